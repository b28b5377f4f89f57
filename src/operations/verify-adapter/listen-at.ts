import type { Server } from 'node:http'
import { Refusal } from '../../core/refusals.ts'

/** `place`: HOST:PORT. Refuses with a sentence where nothing can listen. */
export function listenAt(place: string, server: Server): Promise<Server> {
  const [, host, port] = /^\[?(.+?)\]?:([0-9]{1,5})$/.exec(place) ?? []
  return new Promise((resolve, reject) => {
    const refuse = () =>
      reject(
        new Refusal(
          'argument_invalid',
          `Nothing can listen on ${place || 'no address'}. Give HOST:PORT, such as 127.0.0.1:7999.`,
        ),
      )
    if (host === undefined || Number(port) > 65_535) return refuse()
    server.once('error', refuse)
    server.listen(Number(port), host, () => resolve(server))
  })
}

export function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}
