import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { HttpLimits } from './http-limits.ts'
import { latestContext } from './request-context.ts'

/** Where the replies of a connection stand that nobody takes. */
interface Unread {
  readonly taken: number
  readonly since: number
}

/**
 * Knows the open connections, so that those nobody waits on can be ended when the server stops, and those whose caller
 * reads no replies before that.
 */
export class ConnectionTracker {
  readonly #sockets = new Map<Socket, Unread | null>()
  /** Over TLS, those that have not agreed on a secret yet: what they become is another object on the same way. */
  readonly #handshaking = new Map<string, Socket>()

  readonly #replyStallMs: number
  // Connections live in real time, as Node's own limits for them do.
  #timer: NodeJS.Timeout | null = null

  constructor(server: Server | TlsServer, { replyStallMs }: Pick<HttpLimits, 'replyStallMs'>) {
    this.#replyStallMs = replyStallMs
    if ('setSecureContext' in server) {
      server.on('connection', (socket: Socket) => this.#trackHandshake(socket))
      server.on('secureConnection', (socket: Socket) => {
        this.#handshaking.delete(peerOf(socket))
        this.#add(socket)
      })
    } else server.on('connection', (socket: Socket) => this.#add(socket))
  }

  /**
   * Ends every connection on which no whole request waits for its reply. Node's own way leaves those open that have
   * not brought a request yet, and stops looking at their time limits.
   */
  endIdle(): void {
    clearTimeout(this.#timer ?? undefined)
    for (const socket of this.#handshaking.values()) socket.destroy()
    for (const socket of this.#sockets.keys()) {
      const latest = latestContext(socket)
      if (!latest || latest.response.writableFinished) socket.destroy()
    }
  }

  #add(socket: Socket): void {
    this.#sockets.set(socket, null)
    this.#scheduleCheck()
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /**
   * Looked at now and then and not noted with each write, which would cost as much as a check of the request. Node's own
   * timeout would also count what the caller goes on sending. A reply leaves in pieces of some 100 KB at most: who takes
   * none of them in a minute reads none.
   */
  #endUnread(): void {
    this.#timer = null
    const now = performance.now()
    for (const [socket, unread] of this.#sockets) {
      const taken = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0) this.#sockets.set(socket, null)
      else if (unread?.taken !== taken) this.#sockets.set(socket, { taken, since: now })
      else if (now - unread.since >= this.#replyStallMs) socket.destroy()
    }
    if (this.#sockets.size > 0) this.#scheduleCheck()
  }

  #scheduleCheck(): void {
    this.#timer ??= setTimeout(() => this.#endUnread(), this.#replyStallMs / 4).unref()
  }

  #trackHandshake(socket: Socket): void {
    const peer = peerOf(socket)
    this.#handshaking.set(peer, socket)
    socket.once('close', () => {
      if (this.#handshaking.get(peer) === socket) this.#handshaking.delete(peer)
    })
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? 0}`
}
