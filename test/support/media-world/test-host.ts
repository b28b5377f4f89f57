import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from './certificates.ts'

/** What a host does with one connection once the headers of the request have been received. */
export type Script = (socket: Socket, request: string) => void

export interface TestHostOptions {
  readonly script: Script
  /** Left out: a new address in 127.0.0.0/8, so that hosts of parallel tests never collide. */
  readonly address?: string
  readonly port?: number
  readonly certificate?: Certificate
  /** Called on connect, before any request. */
  readonly onConnect?: (socket: Socket) => void
}

/** A server that sends exactly what a test wants, byte for byte, on a loopback address that stands for the internet. */
export class TestHost {
  readonly address: string
  readonly port: number
  /** The text of each request received. */
  readonly requests: string[] = []
  /** Connections that were made, with or without a request. */
  connects = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, address: string) {
    this.#server = server
    this.address = address
    this.port = (server.address() as { port: number }).port
  }

  static async open(options: TestHostOptions): Promise<TestHost> {
    for (let tries = 1; ; tries += 1) {
      const address = options.address ?? randomLoopback()
      const server = options.certificate ? createTlsServer({ ...options.certificate }) : createServer()
      try {
        server.listen(options.port ?? 0, address)
        await once(server, 'listening')
      } catch (error) {
        if (options.address || tries === 10) throw error
        continue
      }
      const host = new TestHost(server, address)
      host.#serve(options)
      return host
    }
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size
  }

  url(path = '/file', scheme = 'http'): string {
    return `${scheme}://${this.address.includes(':') ? `[${this.address}]` : this.address}:${this.port}${path}`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #serve({ script, onConnect, certificate }: TestHostOptions): void {
    this.#server.on('connection', () => {
      this.connects += 1
    })
    this.#server.on('tlsClientError', () => {})
    this.#server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('error', () => {})
      onConnect?.(socket)
      let request = ''
      socket.on('data', (chunk) => {
        const hadAll = request.includes('\r\n\r\n')
        request += chunk.toString('latin1')
        if (hadAll || !request.includes('\r\n\r\n')) return
        this.requests.push(request)
        script(socket, request)
      })
    })
  }
}

export function randomLoopback(): string {
  const part = () => 2 + Math.floor(Math.random() * 252)
  return `127.${part()}.${part()}.${part()}`
}

/** A whole response, as text or bytes. Adds `content-length` unless it is given. */
export function response(
  status: number | string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = '',
): Buffer {
  const content = Buffer.from(body as string)
  const all = { 'content-length': String(content.length), ...headers }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  const head = `HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return Buffer.concat([Buffer.from(head), content])
}

/** A host that answers every request with this and closes. */
export function answering(...args: Parameters<typeof response>): Script {
  return (socket) => socket.end(response(...args))
}

export function redirecting(location: string, status = 302): Script {
  return answering(status, { location }, '')
}

/** Sends the same bytes repeatedly, as fast as they are accepted, and counts what the system accepted. */
export function endless(head: string, piece: Buffer, sent: { bytes: number } = { bytes: 0 }): Script {
  // Writes are large, so that the host's own work does not slow down the fetcher: both run in this process.
  const load = Buffer.concat(Array<Buffer>(Math.ceil(65_536 / piece.length)).fill(piece))
  return (socket) => {
    socket.write(head)
    const pump = () => {
      while (!socket.destroyed && socket.writableLength < 500_000) {
        socket.write(load, (error) => {
          if (!error) sent.bytes += load.length
        })
      }
      if (!socket.destroyed) socket.once('drain', pump)
    }
    pump()
  }
}

/** Sends a piece every `everyMs`, without end. */
export function drip(head: string, { piece, everyMs }: { readonly piece: Buffer; readonly everyMs: number }): Script {
  return (socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write(piece), everyMs)
    socket.on('close', () => clearInterval(timer))
  }
}
