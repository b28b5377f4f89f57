import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { latestExchange } from './exchange.ts'

/** Knows the open connections, so that those nobody waits on can be ended when the server stops. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>()

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /**
   * Ends every connection on which no whole request waits for its reply. Node's own way leaves those open that have
   * not brought a request yet, and stops looking at their time limits.
   */
  endIdle(): void {
    for (const socket of this.#sockets) {
      const latest = latestExchange(socket)
      if (!latest || latest.response.writableFinished) socket.destroy()
    }
  }
}
