import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { HttpLimits } from './http-limits.ts'
import { latestContext } from './request-context.ts'

/** How many bytes of its replies a connection has taken, and since when it takes no more. */
interface Unread {
  readonly taken: number
  readonly since: number
}

/**
 * The open connections. Ends idle ones when the server stops, and at any time those whose caller reads no replies.
 */
export class ConnectionTracker {
  readonly #sockets = new Map<Socket, Unread | null>()
  /** TLS connections before their handshake is done, by address and port. Afterwards Node has another socket object. */
  readonly #handshaking = new Map<string, Socket>()

  readonly #replyStallMs: number
  // In real time, like Node's own limits for connections.
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
   * Ends every connection on which no whole request waits for its reply. Node's own method leaves connections open that
   * have not sent a request yet, and stops checking their time limits.
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
   * Ends connections whose caller reads nothing. Checked at intervals, because noting each write would cost as much as
   * validating the request. Node's own timeout is reset by whatever the caller sends. A reply leaves in pieces of some
   * 100 KB at most: a caller that takes none of them in a minute reads none.
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
