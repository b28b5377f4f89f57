import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Taken {
  /** The id that the network uses in its reports. */
  readonly id: string
  readonly to: string
  readonly text: string
}

/**
 * A network behind Kannel's `smsc = http`. It refuses texts that begin with “perm” for good and those that begin with “temp” for
 * now, and accepts all others. Unlike `fakesmsc` it can report that a message failed.
 */
export class HttpNetwork {
  readonly url: string
  readonly taken: Taken[] = []
  /** How often each text was received, refused ones included. */
  readonly tries = new Map<string, number>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => {
      const { searchParams } = new URL(request.url ?? '', this.url)
      response.end(this.#take(searchParams.get('to') ?? '', searchParams.get('text') ?? ''))
    })
  }

  static async open(): Promise<HttpNetwork> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new HttpNetwork(server)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(to: string, text: string): string {
    this.tries.set(text, (this.tries.get(text) ?? 0) + 1)
    const [refusal] = /^(?:perm|temp)/.exec(text) ?? []
    if (refusal !== undefined) return `${refusal} refused`
    const id = `f${this.taken.length + 1}`
    this.taken.push({ id, to, text })
    return `ok id=${id}`
  }
}
