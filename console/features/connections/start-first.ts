// Such as Kannel's adapter is started with, while no URL is given.
const USUAL = '127.0.0.1:7900'

/** The command with host and port of the address that was given. */
export function startCommand(command: string, url: string): string {
  const { protocol, hostname, port } = URL.parse(url) ?? {}
  const listen = hostname ? `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}` : USUAL
  return command.replace('LISTEN', listen)
}

/** A new value for a setting that the form may make. */
export function randomValue({ prefix, bytes }: { readonly prefix: string; readonly bytes: number }): string {
  return prefix + btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(bytes))))
}
