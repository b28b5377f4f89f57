import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { InterimReplies } from '../core/interim-replies.ts'

interface ConnectionWatch {
  /** Gets the total after each chunk. */
  readonly onReceived: (receivedBytes: number) => void
  /** Asked right before the first byte is written; false ends the connection. */
  readonly mayBegin: () => boolean
}

/**
 * A connection that counts received bytes and can be paused.
 *
 *   READING ── hold ──▶ HELD (nothing is taken from the network, so its buffers fill and the host must wait)
 *      ▲                  │
 *      └──── release ─────┘
 *
 * The host is held back here and not in the HTTP library. A paused library reports a file as cut off when the host closes
 * the connection: with a slow disk that was every third large file.
 */
export class MeteredConnection extends Duplex {
  receivedBytes = 0
  readonly #socket: Socket
  readonly #mayBegin: () => boolean
  #isHeld = false
  /** Null until the first byte is to be written. */
  #hasBegun: boolean | null = null

  constructor(socket: Socket, { onReceived, mayBegin }: ConnectionWatch) {
    // One chunk at a time, so that chunks are never joined into new ones.
    super({ readableHighWaterMark: 1 })
    this.#socket = socket
    this.#mayBegin = mayBegin
    const interim = new InterimReplies()
    socket.on('data', (chunk: Buffer) => {
      interim.pass(chunk)
      this.receivedBytes += chunk.length
      onReceived(this.receivedBytes)
      if (!this.push(chunk)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
    socket.pause()
  }

  hold(): void {
    this.#isHeld = true
    this.#socket.pause()
  }

  release(): void {
    this.#isHeld = false
    this.#socket.resume()
  }

  override _read(): void {
    if (!this.#isHeld) this.#socket.resume()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // Asked once: what follows a refused first piece is refused as well.
    this.#hasBegun ??= this.#mayBegin()
    if (!this.#hasBegun) {
      done(new Error('The request was stopped before its first byte'))
      return
    }
    this.#socket.write(chunk, encoding, done)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }
}
