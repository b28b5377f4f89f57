import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

/** A message as the gateway would pass it on. */
interface SentOn {
  readonly to: string
  readonly type: string
  readonly text: string | null
  readonly name: string | null
  readonly mime: string | null
  readonly sha256: string | null
}

interface Answer {
  readonly status: number
  readonly value: unknown
  /** The body as it is sent, instead of `value` as JSON. */
  readonly text?: string | undefined
}

export interface Report {
  readonly id: string
  readonly kind: 'sent' | 'delivered' | 'read' | 'failed'
}

/** How one gateway speaks, as its documents describe it. */
interface Dialect {
  /** The arguments of its adapter besides the common ones. `files`: the files with the key and with the secret of the webhook. */
  readonly given: (files: Readonly<Record<'key' | 'webhook', string>>) => readonly string[]
  readonly webhookPath: string
  readonly isAllowed: (headers: IncomingMessage['headers']) => boolean
  readonly refusal: Answer
  readonly state: (path: string, isReady: boolean) => Answer | null
  readonly read: (path: string, body: Buffer, headers: IncomingMessage['headers']) => SentOn
  /** Its answer to a message that it accepted under this id. */
  readonly accepted: (id: string) => Answer
  /** The webhook about a message; null when the gateway sends none of this kind. */
  readonly report: (
    report: Report,
    key: string,
  ) => { readonly body: string; readonly headers: Record<string, string> } | null
}

export const KEY = 'key-of-the-gateway'
export const WEBHOOK_KEY = 'secret-of-the-webhook'
export const NUMBER = '15550009000'

const ACKS = { failed: -1, sent: 1, delivered: 2, read: 3 }
const STATUSES = { failed: 'ERROR', sent: 'SERVER_ACK', delivered: 'DELIVERY_ACK', read: 'READ' }

export const DIALECTS: Readonly<Record<'waha' | 'evolution' | 'gowa', Dialect>> = {
  waha: {
    given: ({ key, webhook }) => ['--key-file', key, '--webhook-key-file', webhook, '--session', 'shop'],
    webhookPath: '/waha',
    isAllowed: (headers) => headers['x-api-key'] === KEY,
    refusal: { status: 401, value: { message: 'Unauthorized', statusCode: 401 } },
    state: (path, isReady) =>
      path === '/api/sessions/shop'
        ? {
            status: 200,
            value: { name: 'shop', status: isReady ? 'WORKING' : 'SCAN_QR_CODE', me: { id: `${NUMBER}@c.us` } },
          }
        : null,
    read(path, body) {
      const { session, chatId, text, file, caption } = JSON.parse(body.toString()) as Record<string, string> & {
        file?: Record<string, string>
      }
      assert.equal(session, 'shop')
      const type = {
        '/api/sendText': 'message',
        '/api/sendImage': 'image',
        '/api/sendFile': 'document',
        '/api/sendVideo': 'video',
        '/api/sendVoice': 'audio',
      }[path]
      return {
        to: chatId?.replace(/@c\.us$/, '') ?? '',
        type: type ?? path,
        text: text ?? (caption || null),
        ...fileOf(file?.['data'], file?.['filename'], file?.['mimetype']),
      }
    },
    accepted: (id) => ({ status: 201, value: { id: `true_15551230001@c.us_${id}`, ack: 0 } }),
    report({ id, kind }, key) {
      const payload = { id: `true_999@lid_${id}`, from: 'a', to: 'b', fromMe: true, ack: ACKS[kind] }
      const body = JSON.stringify({ event: 'message.ack', session: 'shop', engine: 'NOWEB', payload })
      return { body, headers: { 'x-webhook-hmac': createHmac('sha512', key).update(body).digest('hex') } }
    },
  },
  evolution: {
    given: ({ key, webhook }) => ['--key-file', key, '--webhook-key-file', webhook, '--instance', 'shop'],
    webhookPath: '/evolution',
    isAllowed: (headers) => headers['apikey'] === KEY,
    refusal: { status: 401, value: { status: 401, error: 'Unauthorized', response: { message: 'Unauthorized' } } },
    state: (path, isReady) =>
      path === '/instance/connectionState/shop'
        ? { status: 200, value: { instance: { instanceName: 'shop', state: isReady ? 'open' : 'connecting' } } }
        : null,
    read(path, body) {
      const given = JSON.parse(body.toString()) as Record<string, string>
      const type = { '/message/sendText/shop': 'message', '/message/sendWhatsAppAudio/shop': 'audio' }[path]
      return {
        to: given['number'] ?? '',
        type: type ?? given['mediatype'] ?? path,
        text: given['text'] ?? given['caption'] ?? null,
        ...fileOf(given['media'] ?? given['audio'], given['fileName'], given['mimetype']),
      }
    },
    accepted: (id) => ({ status: 201, value: { key: { remoteJid: 'a', fromMe: true, id }, status: 'PENDING' } }),
    report({ id, kind }, key) {
      const data = { keyId: id, remoteJid: 'a', fromMe: true, status: STATUSES[kind], messageId: 'x' }
      const body = JSON.stringify({ event: 'messages.update', instance: 'shop', data })
      return { body, headers: { authorization: `Bearer ${key}` } }
    },
  },
  gowa: {
    given: ({ key, webhook }) => [
      ...['--user', 'nuncio', '--password-file', key, '--webhook-key-file', webhook, '--device', 'phone'],
    ],
    webhookPath: '/gowa',
    isAllowed: (headers) =>
      headers.authorization === `Basic ${Buffer.from(`nuncio:${KEY}`).toString('base64')}` &&
      headers['x-device-id'] === 'phone',
    refusal: { status: 401, value: 'Unauthorized' },
    state: (path, isReady) =>
      path === '/app/status'
        ? {
            status: 200,
            value: {
              code: 'SUCCESS',
              results: { is_connected: true, is_logged_in: isReady, jid: `${NUMBER}:12@s.whatsapp.net` },
            },
          }
        : null,
    read(path, body, headers) {
      if (path === '/send/message') {
        const { phone, message } = JSON.parse(body.toString()) as Record<string, string>
        return { to: phone?.replace(/@.*/, '') ?? '', type: 'message', text: message ?? null, ...fileOf() }
      }
      const { fields, file } = readForm(body, String(headers['content-type']))
      if (path === '/send/image' || path === '/send/video') assert.equal(fields.get('compress'), 'false')
      return {
        to: fields.get('phone')?.replace(/@s\.whatsapp\.net$/, '') ?? '',
        type: path === '/send/file' ? 'document' : path.slice('/send/'.length),
        text: fields.get('caption') ?? null,
        ...file,
      }
    },
    accepted: (id) => ({
      status: 200,
      value: { code: 'SUCCESS', message: 'ok', results: { message_id: id, status: 'sent' } },
    }),
    report({ id, kind }, key) {
      if (kind === 'sent' || kind === 'failed') return null
      const body = JSON.stringify({
        event: 'message.ack',
        device_id: 'phone',
        payload: { ids: [id], receipt_type: kind },
      })
      return {
        body,
        headers: { 'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}` },
      }
    },
  },
}

/** A gateway that speaks this dialect. It accepts and reports every message, unless `answer` is set. */
export class FakeMessenger {
  readonly sent: SentOn[] = []
  readonly #server = createServer()
  readonly #dialect: Dialect
  isReady = true
  /** Its answer to the next messages, instead of accepting them. */
  answer: Answer | null = null
  /** It ends every call before it has read the request. */
  breaksOff = false
  /** The URL that it sends webhooks to; null: it sends none. */
  webhook: string | null = null

  private constructor(dialect: Dialect) {
    this.#dialect = dialect
    this.#server.on('request', (request, response) => {
      if (this.breaksOff) {
        request.destroy()
        return
      }
      this.#answer(request).then(
        ({ status, value, text }) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(text ?? JSON.stringify(value)),
        (error: unknown) => response.writeHead(599).end(String(error)),
      )
    })
  }

  static async start(dialect: Dialect): Promise<FakeMessenger> {
    const gateway = new FakeMessenger(dialect)
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve))
    return gateway
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.webhook = null
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Posts a webhook until the reply is no 5xx, for 1,000 tries at most. Returns the last status, or 0. */
  async report(report: Report, key = WEBHOOK_KEY): Promise<number> {
    const wanted = this.#dialect.report(report, key)
    if (!wanted) return 0
    for (let tries = 0; this.webhook !== null && tries < 1_000; tries++) {
      const { headers, body } = wanted
      const answer = await fetch(this.webhook + this.#dialect.webhookPath, { method: 'POST', headers, body }).catch(
        () => null,
      )
      if (answer && answer.status < 500) return answer.status
      await setTimeout(50)
    }
    return 0
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const body = await buffer(request)
    const { method, url: path = '', headers } = request
    const { isAllowed, refusal, state, read, accepted } = this.#dialect
    if (!isAllowed(headers)) return refusal
    const known = method === 'GET' ? state(path, this.isReady) : null
    if (known) return known
    if (this.answer) return this.answer
    this.sent.push(read(path, body, headers))
    const id = randomBytes(8).toString('hex').toUpperCase()
    // The reports may come before the answer.
    for (const kind of ['sent', 'delivered'] as const) void this.report({ id, kind })
    await setTimeout(20)
    return accepted(id)
  }
}

function fileOf(base64?: string, name?: string, mime?: string): Pick<SentOn, 'name' | 'mime' | 'sha256'> {
  const sha256 = base64 === undefined ? null : sha256Of(Buffer.from(base64, 'base64'))
  return { name: name ?? null, mime: mime ?? null, sha256 }
}

export function sha256Of(file: Uint8Array): string {
  return createHash('sha256').update(file).digest('hex')
}

/** Reads the fields of a form and its one file. */
function readForm(body: Buffer, type: string) {
  const boundary = /boundary=(.+)$/.exec(type)?.[1] ?? ''
  const parts = body.toString('latin1').split(`--${boundary}`).slice(1, -1)
  const fields = new Map<string, string>()
  let file: Pick<SentOn, 'name' | 'mime' | 'sha256'> = { name: null, mime: null, sha256: null }
  for (const part of parts) {
    const at = part.indexOf('\r\n\r\n')
    const [head, content] = [part.slice(0, at), Buffer.from(part.slice(at + 4, -2), 'latin1')]
    const [, field = ''] = /name="([^"]+)"/.exec(head) ?? []
    const [, name] = /filename="([^"]+)"/.exec(head) ?? []
    const [, mime = null] = /content-type: (\S+)/.exec(head) ?? []
    if (name === undefined) fields.set(field, content.toString())
    else file = { name: Buffer.from(name, 'latin1').toString(), mime, sha256: sha256Of(content) }
  }
  return { fields, file }
}
