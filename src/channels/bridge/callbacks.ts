import type {
  CallbackHead,
  CallbackReceiver,
  CallbackReply,
  CallbackRequest,
  HeadCheck,
} from '../../core/ports/callbacks.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { CallbackEvent } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { parseBody } from '../receipts/parse-body.ts'
import { ReportNotes } from '../receipts/report-notes.ts'
import type { ReportQueue } from '../receipts/report-queue.ts'
import { type VerifiedApp, VerifiedApps } from '../receipts/verified-apps.ts'
import { hiddenOf, withoutSecrets } from './adapter-client.ts'
import { BRIDGE } from './name.ts'
import { type AdapterReceipt, MOST_RECEIPTS, MOST_RECEIPTS_BYTES, parseReceipts } from './protocol.ts'
import { SECRET_KEYS } from './settings.ts'
import { keyOf, sign, verifySigned } from './signing.ts'

interface CallbackParts {
  readonly connections: ChannelConnections
  readonly secrets: Secrets
  readonly clock: Clock
  readonly note: (event: CallbackEvent) => void
  readonly queue: Pick<ReportQueue<AdapterReceipt>, 'store'>
}

type App = VerifiedApp<(typeof SECRET_KEYS)[number]>
type Outcome = Extract<CallbackEvent, { event: 'callback.received' }>['outcome']
type Answer = readonly [status: number, body: string, outcome: Outcome]

const APP_UNKNOWN: Answer = [404, 'no connection has this address', 'app-unknown']
const NOT_A_POST: Answer = [405, 'receipts come by POST', 'forged']
const FORGED: Answer = [
  401,
  'the signature is missing, does not fit the secret, or the clocks differ by 5 minutes',
  'forged',
]
const NOT_RECEIPTS: Answer = [
  400,
  `the body is not {"type":"receipts"} with at most ${MOST_RECEIPTS} receipts`,
  'not-json',
]
const UNREADABLE: Answer = [503, 'the secrets of the connection cannot be opened', 'not-stored']
// Our own requests have other ids, so that one sent back to us does not count as receipts.
const RECEIPTS_ID = /^rcp_[\x21-\x7e]{8,200}$/

/** Takes the receipts of adapters, and stores them. `ReportQueue` applies them. */
export function createCallbackReceiver(parts: CallbackParts): CallbackReceiver {
  const receiver = new Receiver(parts)
  return {
    channel: BRIDGE,
    maxBodyBytes: MOST_RECEIPTS_BYTES,
    checkHead: (head) => receiver.checkHead(head),
    receive: (request) => receiver.receive(request),
  }
}

class Receiver {
  readonly #parts: CallbackParts
  readonly #apps: VerifiedApps<(typeof SECRET_KEYS)[number]>
  readonly #reportNotes: ReportNotes

  constructor(parts: CallbackParts) {
    this.#parts = parts
    this.#reportNotes = new ReportNotes(parts.connections)
    this.#apps = new VerifiedApps(parts, SECRET_KEYS)
  }

  async checkHead({ method, callbackApp, headers }: CallbackHead): Promise<HeadCheck> {
    const startedMs = this.#parts.clock.monotonic()
    if (method !== 'POST') return { refusal: this.#reply(NOT_A_POST, startedMs) }
    const app = await this.#apps.find(callbackApp)
    // All connections of an address are of one account: it is made of the account's id and the secret.
    const owner = app?.connections[0]?.accountId
    if (owner === undefined) return { refusal: this.#reply(APP_UNKNOWN, startedMs) }
    if (!RECEIPTS_ID.test(headers['webhook-id'] ?? '')) return { refusal: this.#reply(FORGED, startedMs) }
    return { refusal: null, owner }
  }

  async receive(request: CallbackRequest): Promise<CallbackReply> {
    const startedMs = this.#parts.clock.monotonic()
    try {
      const app = await this.#apps.find(request.callbackApp)
      if (!app) return this.#reply(APP_UNKNOWN, startedMs)
      const verified = await this.#verified(request, app)
      if (!verified) return this.#reply(app.unreadable > 0 ? UNREADABLE : FORGED, startedMs)
      return await this.#take(request, verified, startedMs)
    } catch (error) {
      this.#noteReceived('not-stored', startedMs)
      throw error
    }
  }

  async #take(request: CallbackRequest, app: App, startedMs: number): Promise<CallbackReply> {
    const { clock, note, queue } = this.#parts
    const read = parseReceipts(parseBody(request.body)?.value)
    // Signed, so that the adapter knows that it comes from us and not from a proxy, and stops repeating what can never be read.
    if (!read) return this.#signed(this.#reply(NOT_RECEIPTS, startedMs), request, app)
    const ids = new Set<string>(app.connections.map(({ id }) => id))
    const hidden = hiddenOf(secretsOf(app))
    const ours = read.receipts
      .filter(({ connectionId }) => ids.has(connectionId))
      .map((receipt) => ({ ...receipt, words: withoutSecrets(receipt.words, { hidden }) }))
    const foreign = read.receipts.length - ours.length
    for (const [reason, count] of [...counted(read.ignored), ['number_unknown', foreign] as const])
      if (count > 0) note({ event: 'callback.ignored', channel: BRIDGE, reason, count })
    const now = clock.now()
    await Promise.all(
      [...Map.groupBy(ours, ({ connectionId }) => connectionId)].flatMap(([id, receipts]) => [
        queue.store(id, receipts),
        this.#reportNotes.note(id, now),
      ]),
    )
    this.#noteReceived(ours.length > 0 ? 'stored' : 'nothing-of-ours', startedMs)
    const body = JSON.stringify({ type: 'stored', stored: ours.length, ignored: read.ignored })
    return this.#signed({ status: 200, body, headers: { 'content-type': 'application/json' } }, request, app)
  }

  #signed({ status, body, headers }: CallbackReply, request: CallbackRequest, app: App): CallbackReply {
    const timestamp = Math.floor(this.#parts.clock.now() / 1_000)
    const signed = sign(keysOf(app), { id: request.headers['webhook-id'] ?? '', timestamp, content: body })
    return { status, body, headers: { ...headers, ...signed } }
  }

  /** With the connections whose secret signed it; null when none did. */
  #verified({ headers, body, callbackApp }: CallbackRequest, app: App): Promise<App | null> {
    const isSigned = (of: App) => {
      const received = { header: (name: string) => headers[name] ?? null, content: body, now: this.#parts.clock.now() }
      return verifySigned(keysOf(of), received) !== null
    }
    return this.#apps.findFitting(callbackApp, app, isSigned)
  }

  #reply([status, body, outcome]: Answer, startedMs: number): CallbackReply {
    this.#noteReceived(outcome, startedMs)
    return { status, body }
  }

  #noteReceived(outcome: Outcome, startedMs: number): void {
    const tookMs = Math.round(this.#parts.clock.monotonic() - startedMs)
    this.#parts.note({ event: 'callback.received', channel: BRIDGE, outcome, tookMs })
  }
}

function secretsOf({ secretsOf: byName }: App): readonly string[] {
  return SECRET_KEYS.flatMap((name) => byName[name])
}

function keysOf(app: App): readonly Buffer[] {
  return secretsOf(app).flatMap((secret) => keyOf(secret) ?? [])
}

const IGNORED = { malformed: 'part_malformed', kind_unknown: 'status_unknown', not_ours: 'not_ours' } as const

function counted(
  ignored: readonly { readonly reason: keyof typeof IGNORED }[],
): readonly (readonly [string, number])[] {
  return [...Map.groupBy(ignored, ({ reason }) => reason)].map(([reason, some]) => [IGNORED[reason], some.length])
}
