import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '../media-world/certificates.ts'

/** What happens to an upload. `drop`: the connection ends while it is read. `stall`: there is no answer. A number: the status. */
type UploadFault = 'drop' | 'stall' | number

const UPLOAD_PATH = /^\/mms\/(image|video|audio|document)\/([\w-]{43})$/
const ORIGIN = 'https://web.whatsapp.com'
const BLOCK_BYTES = 16
const MAC_BYTES = 10
const MOST_BYTES = 104_857_600

/** The server to which devices upload files and from which phones download them. It checks every upload. */
export class MediaServer {
  /** The certificate of its authority as PEM. It is self-signed, so it is its own authority. */
  readonly authority: string
  /** The types of the received files, such as `image`. */
  readonly uploads: string[] = []
  /** The largest upload that it announces. */
  mostBytes = MOST_BYTES
  /** Called when an upload was received that will not be answered. */
  onStalled: () => void = () => {}
  readonly #complain: (problem: string) => void
  readonly #https: Server
  readonly #files = new Map<string, Buffer>()
  readonly #faults: UploadFault[] = []
  #tokens = 1

  static async start(complain: (problem: string) => void): Promise<MediaServer> {
    const server = new MediaServer(complain)
    server.#https.listen(0, '127.0.0.1')
    await once(server.#https, 'listening')
    return server
  }

  private constructor(complain: (problem: string) => void) {
    this.#complain = complain
    const { cert, key } = makeCertificate({ names: ['localhost'], addresses: ['127.0.0.1'] })
    this.authority = cert
    this.#https = createServer({ cert, key }, (request, response) => {
      this.#answer(request, response).catch(() => request.destroy())
    })
  }

  /** The hosts for files, as the server describes them to devices. */
  get description() {
    const host = { hostname: this.#hostname, maxContentLengthBytes: String(this.mostBytes) }
    return {
      tag: 'media_conn',
      attrs: { auth: this.#token, ttl: '300', auth_ttl: '21600', max_buckets: '12' },
      content: [{ tag: 'host', attrs: host }],
    }
  }

  /** Sets the faults of the next uploads, one each. */
  failNext(...faults: readonly UploadFault[]): void {
    this.#faults.push(...faults)
  }

  /** From now on refuses uploads with the tokens given out so far. */
  expireToken(): void {
    this.#tokens += 1
  }

  /** The encrypted file that a phone downloads; null if there is none. */
  download(directPath: string): Buffer | null {
    return this.#files.get(directPath) ?? null
  }

  close(): void {
    this.#https.close()
    this.#https.closeAllConnections()
  }

  get #hostname(): string {
    return `127.0.0.1:${(this.#https.address() as AddressInfo).port}`
  }

  get #token(): string {
    return `token ${this.#tokens}/+=`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', `https://${this.#hostname}`)
    const [, type, digest = ''] = UPLOAD_PATH.exec(pathname) ?? []
    if (request.method !== 'POST' || type === undefined) {
      this.#complain(`an upload with ${request.method} to an address that is none`)
      response.writeHead(404).end()
      return
    }
    const fault = this.#faults.shift()
    if (fault === 'drop') {
      request.once('data', () => request.destroy())
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    if (fault === 'stall') {
      this.onStalled()
      return
    }
    const body = Buffer.concat(chunks)
    const status = fault ?? (searchParams.get('auth') === this.#token ? 200 : 401)
    if (status !== 200) {
      response.writeHead(status).end('{}')
      return
    }
    this.#check(request, { digest, body, token: searchParams.get('token') })
    const directPath = `/v/t62/${digest}?ccb=1`
    this.#files.set(directPath, body)
    this.uploads.push(type)
    const answer = { url: `https://${this.#hostname}${directPath}`, direct_path: directPath }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  #check(
    { headers }: IncomingMessage,
    { digest, body, token }: { digest: string; body: Buffer; token: string | null },
  ): void {
    if (createHash('sha256').update(body).digest('base64url') !== digest)
      this.#complain('an upload whose address names another digest')
    if (token !== digest) this.#complain('an upload whose token is not the digest')
    if (headers['content-length'] !== String(body.length)) this.#complain('an upload without its length')
    if (headers.origin !== ORIGIN) this.#complain(`an upload with the origin ${headers.origin}`)
    if (body.length % BLOCK_BYTES !== MAC_BYTES) this.#complain('an upload that is not encrypted')
    if (body.length > this.mostBytes) this.#complain('an upload that is longer than the server said')
  }
}
