import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Taken {
  /** By which the network calls it in its reports. */
  readonly id: string
  readonly to: string
  readonly text: string
}

/**
 * A network behind Kannel's `smsc = http`: it refuses what begins with “perm” for good and what begins with “temp” for now, and takes
 * everything else. Unlike `fakesmsc` it may report that a message failed.
 */
export class HttpNetwork {
  readonly url: string
  readonly taken: Taken[] = []
  /** How often each text came, also those that were refused. */
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
