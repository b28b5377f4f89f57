import { createHmac, randomBytes } from 'node:crypto'
import type { CallFaults } from './call-faults.ts'
import type { CallbackSender } from './callback-sender.ts'
import { type CheckedMessage, checkSend, type Json } from './check-send.ts'
import { describeAccount, describeNumber, type StoredTemplate, templatePage } from './describe-objects.ts'
import { GraphError, invalid, noSuchObject } from './graph-error.ts'
import { MediaStore } from './media-store.ts'
import { PaceLimits } from './pace-limits.ts'
import type { SentMessage, SimulatedNumber, SimulatedTemplate, Upload } from './simulator-types.ts'

export interface GraphCall {
  readonly method: string
  readonly url: URL
  readonly token: string | null
  readonly contentType: string
  readonly body: Buffer
  readonly host: string
}

export interface GraphAnswer {
  readonly status: number
  readonly body: Json
  readonly bytes?: { readonly mime: string; readonly body: Buffer }
}

// From the page "Versions". Earlier versions have ended.
const VERSIONS = ['v21.0', 'v22.0', 'v23.0', 'v24.0', 'v25.0', 'v26.0']
const USUAL_THROUGHPUT = 80
const CLOSED =
  'Message failed to send because more than 24 hours have passed since the customer last replied to this number.'

interface Found {
  readonly call: GraphCall
  readonly number: SimulatedNumber
}

/** The state of the network, and its answers to the calls of the published pages. */
export class GraphApi {
  readonly numbers = new Map<string, SimulatedNumber>()
  readonly sent: SentMessage[] = []
  readonly media = new MediaStore()
  readonly closedWindows = new Map<string, 'at-once' | 'by-callback'>()
  readonly #templates: StoredTemplate[] = []
  readonly #subscribed = new Set<string>()
  readonly #pace = new PaceLimits()
  readonly #now: () => number
  readonly #faults: CallFaults
  readonly #callbacks: CallbackSender

  constructor(parts: { now: () => number; faults: CallFaults; callbacks: CallbackSender }) {
    this.#now = parts.now
    this.#faults = parts.faults
    this.#callbacks = parts.callbacks
  }

  addTemplate(businessAccountId: string, template: SimulatedTemplate): void {
    this.#templates.unshift({
      ...template,
      businessAccountId,
      id: String(900_000_000_000_000 + this.#templates.length),
    })
  }

  drawWamid(waId: string): string {
    const inner = Buffer.concat([Buffer.from([0x1d, waId.length]), Buffer.from(waId), randomBytes(12)])
    return `wamid.${inner.toString('base64')}`
  }

  async handle(call: GraphCall, waId: string | null): Promise<GraphAnswer> {
    try {
      return await this.#route(call, waId)
    } catch (error) {
      if (!(error instanceof GraphError)) throw error
      return { status: error.status, body: error.body }
    }
  }

  async #route(call: GraphCall, waId: string | null): Promise<GraphAnswer> {
    const [version = '', id = '', edge, ...more] = call.url.pathname.split('/').slice(1)
    if (version === 'media-file') return this.#download(call, id)
    if (!VERSIONS.includes(version) || id === '' || more.length > 0) {
      throw new GraphError(2500, { message: `Unknown path components: ${call.url.pathname}` })
    }
    this.#checkToken(call)
    const what = `${call.method} ${edge ?? ''}`
    const number = this.numbers.get(id)
    if (number) return this.#ofNumber(what, { call, number: this.#allowed(number, call) }, waId)
    const owner = [...this.numbers.values()].find(
      (one) => one.businessAccountId === id && one.accessToken === call.token,
    )
    if (owner) return this.#ofAccount(what, { call, number: owner })
    return this.#ofMedia(what, id, call)
  }

  #checkToken({ token, url }: GraphCall): void {
    if (token === null) {
      throw new GraphError(190, { message: 'An access token is required to request this resource.' })
    }
    const its = [...this.numbers.values()].filter(({ accessToken }) => accessToken === token)
    if (its.length === 0) {
      throw new GraphError(190, { message: 'Invalid OAuth access token - Cannot parse access token' })
    }
    // A proof is checked wherever it is given (page "Secure Graph API calls").
    const proof = url.searchParams.get('appsecret_proof')
    const proves = ({ appSecret }: SimulatedNumber) =>
      createHmac('sha256', appSecret).update(token).digest('hex') === proof
    if (proof !== null && !its.some(proves)) {
      throw new GraphError(100, { message: 'Invalid appsecret_proof provided in the API argument' })
    }
  }

  #allowed(number: SimulatedNumber, { token, method }: GraphCall): SimulatedNumber {
    if (number.isGone || number.accessToken !== token) throw noSuchObject(number.phoneNumberId, method)
    return number
  }

  async #ofNumber(what: string, found: Found, waId: string | null): Promise<GraphAnswer> {
    const { call, number } = found
    const refusalOf = (kind: 'messages' | 'media' | 'other') => {
      const refusal = this.#faults.drawRefusal({ kind, waId })
      if (refusal) throw refusal
    }
    switch (what) {
      case 'POST messages':
        refusalOf('messages')
        return this.#send(found)
      case 'POST media': {
        refusalOf('media')
        const upload = this.media.take(number.phoneNumberId, { ...call, now: this.#now() })
        return { status: 200, body: { id: upload.id } }
      }
      case 'GET ':
        refusalOf('other')
        return { status: 200, body: describeNumber(number, call.url.searchParams) }
      default:
        throw noSuchObject(number.phoneNumberId, call.method)
    }
  }

  async #send({ call, number }: Found): Promise<GraphAnswer> {
    if ((number.status ?? 'CONNECTED') !== 'CONNECTED' && number.status !== 'FLAGGED') throw new GraphError(133010)
    const raw = call.body.toString()
    const body = parseBody(call.contentType, raw)
    const checked = checkSend(body, {
      findUpload: (id) => this.media.find(id, number.phoneNumberId, this.#now()),
      findTemplates: (name) => this.#templatesOf(number).filter((one) => one.name === name),
    })
    const { waId } = checked
    if (waId === number.number)
      throw new GraphError(131021, { details: 'Sender and recipient phone numbers must differ.' })
    const { phoneNumberId, throughputPerSecond = USUAL_THROUGHPUT } = number
    this.#pace.take({ phoneNumberId, waId, throughputPerSecond }, this.#now())
    const window = checked.type === 'template' ? undefined : this.closedWindows.get(waId)
    if (window === 'at-once') throw new GraphError(131047, { details: CLOSED })
    const message = this.#keep(number, checked, { raw, body })
    const failsLater =
      window === 'by-callback' ? { code: 131047, details: CLOSED } : this.#drawLaterFailure(number, waId)
    if (!failsLater) this.sent.push(message)
    await this.#callbacks.reportResult(number, message, failsLater)
    const held = checked.type === 'template' ? { message_status: 'accepted' } : {}
    return {
      status: 200,
      body: {
        messaging_product: 'whatsapp',
        contacts: [{ input: checked.to, wa_id: waId }],
        messages: [{ id: message.wamid, ...held }],
      },
    }
  }

  #keep(number: SimulatedNumber, checked: CheckedMessage, { raw, body }: { raw: string; body: Json }): SentMessage {
    const { phoneNumberId, number: from } = number
    return { ...checked, wamid: this.drawWamid(checked.waId), phoneNumberId, from, body, raw, at: this.#now() }
  }

  #drawLaterFailure(number: SimulatedNumber, waId: string) {
    const plan = this.#callbacks.planOf(number)
    if (!plan) return null
    return this.#callbacks.drawFailure(plan, waId)
  }

  #ofAccount(what: string, { call, number }: Found): GraphAnswer {
    const refusal = this.#faults.drawRefusal({ kind: 'other', waId: null })
    if (refusal) throw refusal
    const { searchParams } = call.url
    const base = `http://${call.host}${call.url.pathname}`
    switch (what) {
      case 'GET ':
        return { status: 200, body: describeAccount(number, searchParams) }
      case 'GET message_templates':
        return { status: 200, body: templatePage(this.#templatesOf(number), searchParams, base) }
      case 'GET phone_numbers': {
        const own = [...this.numbers.values()].filter(
          (one) => one.businessAccountId === number.businessAccountId && !one.isGone,
        )
        const data = own.map((one) => describeNumber(one, searchParams))
        return { status: 200, body: { data, paging: { cursors: { before: 'QVFI', after: 'QVFI' } } } }
      }
      case 'POST subscribed_apps':
        this.#subscribed.add(number.businessAccountId)
        return { status: 200, body: { success: true } }
      case 'GET subscribed_apps': {
        const app = {
          whatsapp_business_api_data: {
            id: '670000000000001',
            name: 'Simulated app',
            link: 'https://www.facebook.com/games/?app_id=670000000000001',
          },
        }
        return { status: 200, body: { data: this.#subscribed.has(number.businessAccountId) ? [app] : [] } }
      }
      default:
        throw noSuchObject(number.businessAccountId, call.method)
    }
  }

  #templatesOf({ businessAccountId }: SimulatedNumber): readonly StoredTemplate[] {
    return this.#templates.filter((one) => one.businessAccountId === businessAccountId)
  }

  #ofMedia(what: string, id: string, call: GraphCall): GraphAnswer {
    const upload = this.media.find(id, call.url.searchParams.get('phone_number_id'), this.#now())
    const owner = upload && this.numbers.get(upload.phoneNumberId)
    if (!upload || owner?.accessToken !== call.token) throw noSuchObject(id, call.method)
    if (what === 'GET ') return { status: 200, body: describeUpload(upload, call.host) }
    if (what !== 'DELETE ') throw noSuchObject(id, call.method)
    this.media.remove(id)
    return { status: 200, body: { success: true } }
  }

  #download(call: GraphCall, id: string): GraphAnswer {
    this.#checkToken(call)
    const upload = this.media.find(id, null, this.#now())
    if (!upload) throw noSuchObject(id, call.method)
    return { status: 200, body: {}, bytes: { mime: upload.mime, body: upload.bytes } }
  }
}

function describeUpload({ id, mime, sha256, bytes }: Upload, host: string): Json {
  return {
    url: `http://${host}/media-file/${id}`,
    ...{ mime_type: mime, sha256, file_size: bytes.length, id },
    messaging_product: 'whatsapp',
  }
}

function parseBody(contentType: string, raw: string): Json {
  if (!/^application\/json\b/i.test(contentType)) throw invalid('The parameter messaging_product is required.')
  try {
    const body: unknown = JSON.parse(raw)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Json
  } catch {
    // The answer below has the same words.
  }
  throw invalid('The body is not a JSON object.')
}
