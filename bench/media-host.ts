import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const CHUNK = Buffer.alloc(256 * 1024, 0x61)

/** A host of attachments on this machine. It serves files of any size, or reads requests and never answers them. */
export class MediaHost {
  readonly #server: Server
  readonly #address: string

  private constructor(server: Server, address: string) {
    this.#server = server
    this.#address = address
  }

  /** `address` is one of 127.0.0.0/8, so that several hosts count as different ones. */
  static async open(address: string, kind: 'gives' | 'stalls'): Promise<MediaHost> {
    const server = createServer((request, response) => {
      if (kind === 'stalls') return
      let left = Number(request.url?.slice(1) ?? 0)
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(left) })
      const give = () => {
        while (left > 0) {
          const chunk = left >= CHUNK.length ? CHUNK : CHUNK.subarray(0, left)
          left -= chunk.length
          if (!response.write(chunk) && left > 0) return response.once('drain', give)
        }
        return response.end()
      }
      give()
    })
    await new Promise<void>((resolve) => server.listen(0, address, resolve))
    return new MediaHost(server, address)
  }

  urlOf(sizeBytes: number): string {
    return `http://${this.#address}:${(this.#server.address() as AddressInfo).port}/${sizeBytes}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
