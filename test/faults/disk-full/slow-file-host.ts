import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const SIZE_BYTES = 4 * 1024 * 1024

/** Serves one file. The first request gets the second half only after `release`. */
export class SlowFileHost {
  readonly bytes = randomBytes(SIZE_BYTES)
  readonly #server: Server
  #held: ServerResponse | null = null
  #requests = 0

  constructor() {
    this.#server = createServer((_request, response) => {
      this.#requests += 1
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': SIZE_BYTES })
      if (this.#requests > 1) {
        response.end(this.bytes)
        return
      }
      response.write(this.bytes.subarray(0, SIZE_BYTES / 2))
      this.#held = response
    })
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/file.bin`
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  goOn(): void {
    this.#held?.end(this.bytes.subarray(SIZE_BYTES / 2))
  }

  get requests(): number {
    return this.#requests
  }

  get sha256(): string {
    return createHash('sha256').update(this.bytes).digest('hex')
  }
}
