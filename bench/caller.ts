import { connect, type Socket } from 'node:net'

const HEADER_END = '\r\n\r\n'
const RECEIVE_BYTES = 16_384

interface CallerParts {
  readonly port: number
  /** Called when a reply is complete. `begunMs` is the value given to `send`. */
  readonly onReply: (caller: Caller, begunMs: number, status: number) => void
  readonly onBroken: (error: Error) => void
}

/** One keep-alive connection with at most one request under way. It does as little work as possible for each request. */
export class Caller {
  readonly #socket: Socket
  readonly #parts: CallerParts
  #begunMs = 0
  #received: Buffer | null = null
  #messageId: string | null = null
  #wantsIds = false

  private constructor(parts: CallerParts) {
    this.#parts = parts
    this.#socket = connect({
      host: '127.0.0.1',
      port: parts.port,
      onread: {
        // One buffer for the life of the connection, instead of one for each read.
        buffer: Buffer.allocUnsafe(RECEIVE_BYTES),
        callback: (count, bytes) => {
          this.#receive(Buffer.from(bytes.buffer, bytes.byteOffset, count))
          return true
        },
      },
    })
    this.#socket.setNoDelay(true)
  }

  static open(parts: CallerParts): Promise<Caller> {
    const caller = new Caller(parts)
    return new Promise((resolve, reject) => {
      caller.#socket.once('error', reject)
      caller.#socket.once('connect', () => {
        caller.#socket.off('error', reject)
        caller.#socket.on('error', parts.onBroken)
        caller.#socket.on('end', () => parts.onBroken(new Error('the server ended a connection')))
        resolve(caller)
      })
    })
  }

  send(request: Buffer, begunMs: number): void {
    this.#begunMs = begunMs
    this.#socket.write(request)
  }

  /** The `x-message-id` of the last reply, after `noteIds` was called. */
  get messageId(): string | null {
    return this.#messageId
  }

  noteIds(): void {
    this.#wantsIds = true
  }

  close(): void {
    this.#socket.removeAllListeners('end').removeAllListeners('error')
    this.#socket.on('error', () => {})
    this.#socket.destroy()
  }

  #receive(bytes: Buffer): void {
    const whole = this.#received ? Buffer.concat([this.#received, bytes]) : bytes
    const headEnd = whole.indexOf(HEADER_END)
    const head = headEnd === -1 ? null : whole.toString('latin1', 0, headEnd)
    const bodyLength = head === null ? 0 : lengthIn(head)
    if (head === null || whole.length < headEnd + HEADER_END.length + bodyLength) {
      // The next read overwrites the buffer of these bytes.
      this.#received = Buffer.from(whole)
      return
    }
    this.#received = null
    if (this.#wantsIds) this.#messageId = /^x-message-id: (.+)$/im.exec(head)?.[1] ?? null
    this.#parts.onReply(this, this.#begunMs, Number(head.slice(9, 12)))
  }
}

/** Tries the two spellings of our two servers first, and only then any other. */
function lengthIn(head: string): number {
  let at = head.indexOf('\ncontent-length: ')
  if (at === -1) at = head.toLowerCase().indexOf('\ncontent-length: ')
  if (at === -1) return 0
  const end = head.indexOf('\r', at)
  return Number(head.slice(at + 17, end === -1 ? head.length : end))
}
