/** Lets the browser download a file. An empty name leaves the name to the server. */
export function saveFile(address: string, name = ''): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
}
