import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the gateway or the network does to an attempt, by recipient. */
export type Fault =
  | { readonly kind: 'reject'; readonly class: string; readonly code: string; readonly words?: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'drop' | 'hang'; readonly when: 'before' | 'after' }
  /** Any answer that a test wants, from the adapter or from something in front of it. */
  | { readonly kind: 'crafted'; readonly answer: (asked: Asked) => Crafted }

interface Asked {
  readonly id: string
  readonly attemptId: string
  /** As they were received. */
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Crafted {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface AttemptCall extends Pick<Asked, 'id' | 'headers'> {
  readonly body: Buffer
}

export interface SentByAdapter {
  readonly to: string
  readonly type: string
  readonly text: string | null
  readonly name: string | null
  readonly sha256: string | null
  readonly attemptId: string
}

interface Row {
  readonly messageId: string
  readonly connectionId: string
  readonly bodyHash: string
  readonly receiptsUrl: string | null
  /** Null while the gateway has not answered. */
  result: Readonly<Record<string, unknown>> | null
}

/** What survives the process of an adapter: its log, and what its gateway has received. */
export class AdapterLog {
  readonly rows = new Map<string, Row>()
  readonly closed = new Set<string>()
  readonly media = new Set<string>()
  readonly sent: SentByAdapter[] = []
  bornAt = Date.now() - 24 * 3_600_000
}

interface AdapterOptions {
  readonly secret: string
  readonly port?: number
  readonly log?: AdapterLog
  /** Decides about each attempt; null: the gateway takes it. */
  readonly faultOf?: (attempt: { readonly to: string; readonly attemptId: string }) => Fault | null
  readonly receipts?: readonly string[]
}

/** An adapter of protocol 1 for tests, independent of the adapters of the project. Tests set what it answers. */
export class ScriptedAdapter {
  readonly log: AdapterLog
  readonly requests: { readonly method: string; readonly path: string }[] = []
  readonly faults = new Map<string, Fault>()
  /** Tests of the gate change this. */
  isReady = true
  isSilentAboutHealth = false
  signsHealth = true
  secret: string
  /** Whether it reports the results of attempts by itself. */
  reports = true
  closesAttempts = true
  clockOffsetMs = 0
  /** Fields of its health that differ from the usual ones. */
  describes: Readonly<Record<string, unknown>> = {}
  readonly #server: Server
  readonly #options: AdapterOptions
  #isOpen = true

  private constructor(options: AdapterOptions) {
    this.#options = options
    this.secret = options.secret
    this.log = options.log ?? new AdapterLog()
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: AdapterOptions): Promise<ScriptedAdapter> {
    const adapter = new ScriptedAdapter(options)
    await new Promise<void>((resolve, reject) => {
      adapter.#server.once('error', reject)
      adapter.#server.listen(options.port ?? 0, '127.0.0.1', resolve)
    })
    return adapter
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get attempts(): number {
    return this.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/v1/attempts')).length
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { method = '', url = '' } = request
    const [path = '', query = ''] = url.split('?')
    this.requests.push({ method, path })
    const id = String(request.headers['webhook-id'])
    const sha256 = /\/v1\/media\/([0-9a-f]{64})$/.exec(path)?.[1]
    const signed = method === 'PUT' ? `${sha256}.${body.length}` : body
    if (!this.#isSigned(request, signed)) {
      response.writeHead(401).end('{"type":"error"}')
      return
    }
    if (path.endsWith('/health')) {
      if (this.isSilentAboutHealth) return
      if (this.signsHealth) this.#reply(response, id, this.#health())
      else response.end(JSON.stringify(this.#health()))
    } else if (sha256 !== undefined) this.#reply(response, id, this.#media(method, sha256, body))
    else if (method === 'POST') this.#attempt(response, { id, body, headers: request.headers })
    else this.#reply(response, id, this.#evidence(path.split('/').at(-1) ?? '', new URLSearchParams(query)))
  }

  #isSigned({ headers }: IncomingMessage, signed: string | Buffer): boolean {
    const timestamp = Number(headers['webhook-timestamp'])
    if (headers['nuncio-bridge'] !== '1' || Math.abs(Date.now() / 1_000 - timestamp) > 300) return false
    const right = this.#digest(String(headers['webhook-id']), String(timestamp), signed)
    return String(headers['webhook-signature'])
      .split(' ')
      .map((text) => Buffer.from(text.replace(/^v1,/, ''), 'base64'))
      .some((given) => given.length === right.length && timingSafeEqual(given, right))
  }

  #digest(id: string, timestamp: string, content: string | Buffer): Buffer {
    const key = Buffer.from(this.secret.replace(/^whsec_/, ''), 'base64')
    return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(content).digest()
  }

  signedHeaders(id: string, content: string): Readonly<Record<string, string>> {
    const timestamp = String(Math.floor((Date.now() + this.clockOffsetMs) / 1_000))
    return {
      'nuncio-bridge': '1',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${this.#digest(id, timestamp, content).toString('base64')}`,
    }
  }

  /** Signs an answer as an adapter with this secret does. */
  static signedBy(secret: string, id: string, value: unknown): Required<Crafted> {
    return new ScriptedAdapter({ secret }).signed(id, value)
  }

  signed(id: string, value: unknown): Required<Crafted> {
    const body = JSON.stringify(value)
    return { status: 200, headers: { 'content-type': 'application/json', ...this.signedHeaders(id, body) }, body }
  }

  #reply(response: ServerResponse, id: string, value: unknown): void {
    const { status, headers, body } = this.signed(id, value)
    response.writeHead(status, headers).end(body)
  }

  #health(): unknown {
    return {
      type: 'health',
      versions: [1],
      adapter: 'scripted 1.0',
      gateway: 'none 1.0',
      now: Date.now() + this.clockOffsetMs,
      logSince: this.log.bornAt,
      ready: this.isReady,
      words: this.isReady ? null : 'logged out',
      senders: null,
      capabilities: {
        types: ['message', 'image', 'document', 'video', 'audio'],
        maxTextLength: null,
        maxCaptionLength: null,
        receipts: this.#options.receipts ?? ['sent', 'delivered', 'read', 'failed'],
        evidence: false,
      },
      ...this.describes,
    }
  }

  #media(method: string, sha256: string, body: Buffer): unknown {
    if (method === 'PUT' && createHash('sha256').update(body).digest('hex') === sha256) this.log.media.add(sha256)
    return { type: 'media', sha256, ready: this.log.media.has(sha256) }
  }

  #attempt(response: ServerResponse, { id, body, headers }: AttemptCall): void {
    const attempt = JSON.parse(body.toString()) as {
      attemptId: string
      messageId: string
      connectionId: string
      to: string
      content: { type: string; text?: string; caption?: string; name?: string; media?: { sha256: string } }
      receiptsUrl: string | null
    }
    const { attemptId, to, content, messageId, connectionId, receiptsUrl } = attempt
    const fault = this.#options.faultOf?.(attempt) ?? this.faults.get(to) ?? null
    if (fault?.kind === 'crafted') {
      const crafted = fault.answer({ id, attemptId, headers, body: body.toString() })
      response.writeHead(crafted.status, crafted.headers).end(crafted.body)
      return
    }
    if (fault?.kind === 'drop' && fault.when === 'before') {
      response.destroy()
      return
    }
    const bodyHash = createHash('sha256').update(body).digest('hex')
    const answer = (result: Readonly<Record<string, unknown>>) =>
      this.#reply(response, id, { type: 'outcome', attemptId, ...result })
    const reject = (kind: string, code: string) =>
      answer({ result: 'rejected', class: kind, code, words: null, retryAfterMs: null })
    const known = this.log.rows.get(attemptId)
    if (known) {
      answer(known.bodyHash === bodyHash ? (known.result ?? { result: 'unknown' }) : { result: 'unknown' })
      return
    }
    if (this.log.closed.has(attemptId)) {
      reject('transient', 'attempt_closed')
      return
    }
    if (content.media && !this.log.media.has(content.media.sha256)) {
      reject('transient', 'media_missing')
      return
    }
    const row: Row = { messageId, connectionId, bodyHash, receiptsUrl, result: null }
    this.log.rows.set(attemptId, row)
    if (fault?.kind === 'hang' && fault.when === 'before') return
    if (fault?.kind === 'reject') {
      row.result = {
        result: 'rejected',
        class: fault.class,
        code: fault.code,
        words: fault.words ?? null,
        retryAfterMs: null,
      }
      answer(row.result)
      return
    }
    this.log.sent.push({
      to,
      type: content.type,
      text: content.text ?? content.caption ?? null,
      name: content.name ?? null,
      sha256: content.media?.sha256 ?? null,
      attemptId,
    })
    row.result =
      fault?.kind === 'unknown' ? null : { result: 'accepted', networkId: `net-${randomBytes(6).toString('hex')}` }
    if (fault?.kind === 'drop') response.destroy()
    else if (fault?.kind !== 'hang') answer(row.result ?? { result: 'unknown', words: 'the gateway said nothing' })
    void this.#report(attemptId, row)
  }

  #evidence(attemptId: string, query: URLSearchParams): unknown {
    const evidence = (state: string, more = {}) => ({
      type: 'evidence',
      attemptId,
      state,
      logSince: this.log.bornAt,
      ...more,
    })
    const row = this.log.rows.get(attemptId)
    if (row?.result) return evidence(String(row.result['result']), row.result)
    if (row) return evidence('unknown')
    if (this.log.bornAt > Number(query.get('startedAt')) - 300_000) return evidence('forgotten')
    if (this.closesAttempts) this.log.closed.add(attemptId)
    return evidence('not_received')
  }

  async #report(attemptId: string, { connectionId, receiptsUrl, result }: Row): Promise<void> {
    if (receiptsUrl === null || !this.reports) return
    for (const kind of this.#options.receipts ?? ['sent', 'delivered', 'read'])
      await this.postReceipts(receiptsUrl, [
        {
          attemptId,
          connectionId,
          kind,
          at: Date.now(),
          networkId: result?.['networkId'] ?? null,
          code: null,
          words: null,
        },
      ])
  }

  /** Posts receipts until they are accepted. */
  async postReceipts(url: string, receipts: readonly unknown[]): Promise<number> {
    const body = JSON.stringify({ type: 'receipts', receipts })
    for (let tries = 0; this.#isOpen && tries < 1_000; tries++) {
      try {
        const headers = { 'content-type': 'application/json', ...this.signedHeaders(`rcp_${randomUUID()}`, body) }
        const { status } = await fetch(url, { method: 'POST', headers, body })
        if (status < 429) return status
      } catch {
        // Nuncio is down, or its answer was cut off.
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return 0
  }
}

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
