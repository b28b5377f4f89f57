import { RawConnection } from '../../contract/raw-http/raw-connection.ts'
import { type ApiDocument, operationOf } from './api-document.ts'
import type { Replied } from './reply-checker.ts'

export type HeaderLine = readonly [name: string, value: string]

export interface Call {
  readonly body?: unknown
  /** Sent as it is, instead of `body` as JSON. */
  readonly bytes?: string
  /** Sent instead of the headers that the document requires. */
  readonly headers?: readonly HeaderLine[]
  readonly path?: string
  readonly version?: string
}

/** Calls the operation of a document over a raw socket, so that headers can be wrong in ways that no HTTP client allows. */
export class ApiCaller {
  readonly replies: Replied[] = []
  readonly #document: ApiDocument
  readonly #port: number
  readonly #token: string

  constructor(document: ApiDocument, { url, token }: { readonly url: string; readonly token: string }) {
    this.#document = document
    this.#port = Number(new URL(url).port)
    this.#token = token
  }

  /** The headers that the document requires, with those of the given names replaced. */
  headers(...others: readonly HeaderLine[]): HeaderLine[] {
    const [scheme] = Object.values(this.#document.components.securitySchemes)
    const wanted: HeaderLine[] = [
      [scheme?.name ?? '', this.#token],
      ['content-type', 'application/json'],
    ]
    const names = new Set(others.map(([name]) => name))
    return [...wanted.filter(([name]) => !names.has(name)), ...others]
  }

  async call({ body, bytes, headers = this.headers(), path, version = 'HTTP/1.1' }: Call): Promise<Replied> {
    const sent = Buffer.from(bytes ?? JSON.stringify(body) ?? '')
    const lines = [
      ...headers,
      ['host', 'contract.test'],
      ['content-length', String(sent.length)],
      ['connection', 'close'],
    ]
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const connection = await RawConnection.open(this.#port)
    try {
      connection.send(`POST ${path ?? operationOf(this.#document).path} ${version}\r\n${head}\r\n`)
      connection.send(sent)
      const reply = await connection.nextReply()
      if (!reply) throw new Error('The service ended the connection without a reply')
      this.replies.push(reply)
      return reply
    } finally {
      connection.close()
    }
  }
}
