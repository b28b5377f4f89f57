import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { latestExchange } from './exchange.ts'

/** Knows the open connections, so that those nobody waits on can be ended when the server stops. */
export class OpenSockets {
  readonly #sockets = new Set<Socket>()
  /** Over TLS, those that have not agreed on a secret yet: what they become is another object on the same way. */
  readonly #shakingHands = new Map<string, Socket>()

  constructor(server: Server | TlsServer) {
    if ('setSecureContext' in server) {
      server.on('connection', (socket: Socket) => this.#shakeHands(socket))
      server.on('secureConnection', (socket: Socket) => {
        this.#shakingHands.delete(wayOf(socket))
        this.#add(socket)
      })
    } else server.on('connection', (socket: Socket) => this.#add(socket))
  }

  /**
   * Ends every connection on which no whole request waits for its reply. Node's own way leaves those open that have
   * not brought a request yet, and stops looking at their time limits.
   */
  endIdle(): void {
    for (const socket of this.#shakingHands.values()) socket.destroy()
    for (const socket of this.#sockets) {
      const latest = latestExchange(socket)
      if (!latest || latest.response.writableFinished) socket.destroy()
    }
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  #shakeHands(socket: Socket): void {
    const way = wayOf(socket)
    this.#shakingHands.set(way, socket)
    socket.once('close', () => {
      if (this.#shakingHands.get(way) === socket) this.#shakingHands.delete(way)
    })
  }
}

function wayOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? 0}`
}
