/** Lets the browser fetch a file and write it to the disk. An empty name leaves it to the server. */
export function saveFile(address: string, name = ''): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
