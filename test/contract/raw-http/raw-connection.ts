import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface RawReply {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The body of a reply as the contract defines it. */
interface Envelope {
  readonly success: boolean
  readonly code: string
  readonly name: string
  readonly data: {
    readonly state?: string
    readonly errors?: readonly { field: string | null; code: string; message: string }[]
  }
  readonly message: string
}

/** A connection for sending arbitrary bytes. */
export class RawConnection {
  readonly #socket: Socket
  #bytes = Buffer.alloc(0)
  #isOver = false
  #wake: () => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', () => {})
    socket.on('close', () => this.#take(null))
    socket.on('end', () => this.#take(null))
  }

  static async open(port: number, from?: string): Promise<RawConnection> {
    const socket = await openSocket(port, from)
    return new RawConnection(socket)
  }

  /** The same over TLS. Accepts any certificate. */
  static async openTls(port: number, from?: string): Promise<RawConnection> {
    const below = await openSocket(port, from)
    const socket = connectTls({ socket: below, rejectUnauthorized: false })
    // The server may end the connection at any time; the test checks that.
    await new Promise((resolve) => socket.once('secureConnect', resolve).once('error', resolve).once('close', resolve))
    return new RawConnection(socket)
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Half-closes the connection, and reads the rest from the server. */
  endOurSide(): void {
    this.#socket.end()
  }

  /** Stops reading. Then only a send shows that the server has ended the connection. */
  stopReading(): void {
    this.#socket.pause()
  }

  readOn(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }

  /** The next reply, or null when the server ended the connection instead. */
  async nextReply(): Promise<RawReply | null> {
    for (;;) {
      const reply = this.#parse()
      if (reply || this.#isOver) return reply
      await this.#change()
    }
  }

  /** Everything received until the server ended the connection, as text. */
  async untilClosed(): Promise<string> {
    while (!this.#isOver) await this.#change()
    return this.#bytes.toString('latin1')
  }

  get isClosed(): boolean {
    return this.#isOver
  }

  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  #take(chunk: Buffer | null): void {
    if (chunk) this.#bytes = Buffer.concat([this.#bytes, chunk])
    else this.#isOver = true
    this.#wake()
  }

  #parse(): RawReply | null {
    const headEnd = this.#bytes.indexOf('\r\n\r\n')
    if (headEnd === -1) return null
    const [statusLine = '', ...lines] = this.#bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(lines.map((line) => splitHeader(line)))
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0)
    if (this.#bytes.length < end) return null
    const text = this.#bytes.subarray(headEnd + 4, end).toString('utf8')
    this.#bytes = this.#bytes.subarray(end)
    return { status: Number(statusLine.split(' ')[1]), headers, text }
  }
}

/** `from`: the local address of the connection. */
async function openSocket(port: number, from?: string): Promise<Socket> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    allowHalfOpen: true,
    ...(from !== undefined && { localAddress: from }),
  })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
}

export function envelopeOf(reply: RawReply | null): Envelope {
  if (!reply) throw new Error('The connection was closed without a reply')
  return JSON.parse(reply.text) as Envelope
}

/** The codes of all errors, in order. */
export function codesOf(reply: RawReply | null): readonly string[] {
  return (envelopeOf(reply).data.errors ?? []).map(({ code }) => code)
}
