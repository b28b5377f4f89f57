import type {
  CallbackHead,
  CallbackReceiver,
  CallbackReply,
  CallbackRequest,
  HeadCheck,
} from '../../../core/ports/callbacks.ts'
import type { ChannelConnections } from '../../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { CallbackEvent } from '../../../core/ports/journal.ts'
import type { Secrets } from '../../../core/ports/secrets.ts'
import { parseBody } from '../../receipts/parse-body.ts'
import { ReportNotes } from '../../receipts/report-notes.ts'
import { type VerifiedApp, VerifiedApps } from '../../receipts/verified-apps.ts'
import { WHATSAPP_CLOUD } from '../name.ts'
import { storeReportedOf } from '../statuses/store-reported.ts'
import { readCallback } from './read-callback.ts'
import { routeParts } from './route-parts.ts'
import { isAnyOf, isSignedByAny, readSignature } from './verify-origin.ts'

/** Applies what is stored, in this process. */
interface Applying {
  /** The name under which other processes leave entries to this one; null while it is not running. */
  taker(): string | null
  poke(): void
}

interface CallbackParts {
  readonly memory: ChannelState
  readonly connections: ChannelConnections
  readonly secrets: Secrets
  readonly clock: Clock
  readonly note: (event: CallbackEvent) => void
  readonly applying: Applying
}

// The most that Meta sends in one request (page “Webhooks: overview”), decimal or binary.
const MAX_BODY_BYTES = 3 * 1024 * 1024

// Meta's first report often comes before the outcome of our own call is recorded, and would be too early then.
const LEFT_FOR_THE_CALL_MS = 50

const PROVING_SECRETS = ['appSecret', 'verifyToken'] as const
type ProvingSecret = (typeof PROVING_SECRETS)[number]

type Outcome = Extract<CallbackEvent, { event: 'callback.received' }>['outcome']
type Answer = readonly [status: number, body: string, outcome: Outcome]

// Meta reads only the status: everything but 200 comes again for up to seven days (page “Webhooks: overview”). So
// 4xx answers only what would fail again, never a signed callback that merely says nothing to us.
const STORED: Answer = [200, 'stored', 'stored']
const NOTHING_OF_OURS: Answer = [200, 'nothing here is about a connection of ours', 'nothing-of-ours']
const APP_UNKNOWN: Answer = [404, 'no connection has this callback address', 'app-unknown']
const FORGED: Answer = [401, 'the signature is missing or does not fit the app secret', 'forged']
const WRONG_TOKEN: Answer = [403, 'the verify token is not the one of the connection', 'forged']
const NOT_JSON: Answer = [400, 'the body is not JSON', 'not-json']
const UNREADABLE: Answer = [503, 'the secrets of the connection cannot be opened', 'not-stored']

/** Receives Meta's callbacks: verifies that they are Meta's, and stores their reports. `StatusApplier` applies them. */
export function createCallbackReceiver(parts: CallbackParts): CallbackReceiver {
  const receiver = new Receiver(parts)
  return {
    channel: WHATSAPP_CLOUD,
    maxBodyBytes: MAX_BODY_BYTES,
    checkHead: (head) => receiver.checkHead(head),
    receive: (request) => receiver.receive(request),
  }
}

class Receiver {
  readonly #parts: CallbackParts
  readonly #apps: VerifiedApps<ProvingSecret>
  readonly #reportNotes: ReportNotes

  constructor(parts: CallbackParts) {
    this.#parts = parts
    this.#reportNotes = new ReportNotes(parts.connections)
    this.#apps = new VerifiedApps(parts, PROVING_SECRETS)
  }

  async checkHead({ method, callbackApp, headers }: CallbackHead): Promise<HeadCheck> {
    const startedMs = this.#parts.clock.monotonic()
    const app = await this.#apps.find(callbackApp)
    // All connections of an address are of one account: it is made of the account's id and the app secret.
    const owner = app?.connections[0]?.accountId
    if (owner === undefined) return { refusal: this.#reply(APP_UNKNOWN, startedMs) }
    if (method === 'POST' && !readSignature(headers['x-hub-signature-256']))
      return { refusal: this.#reply(FORGED, startedMs) }
    return { refusal: null, owner }
  }

  async receive(request: CallbackRequest): Promise<CallbackReply> {
    const startedMs = this.#parts.clock.monotonic()
    try {
      const app = await this.#apps.find(request.callbackApp)
      if (!app) return this.#reply(APP_UNKNOWN, startedMs)
      const answer = request.method === 'GET' ? await this.#verify(request, app) : await this.#take(request, app)
      return this.#reply(answer, startedMs)
    } catch (error) {
      this.#noteReceived('not-stored', startedMs)
      throw error
    }
  }

  /** Meta asks once, when the address is entered in its dashboard (page “Create a webhook endpoint”). */
  async #verify({ query, callbackApp }: CallbackRequest, app: VerifiedApp<ProvingSecret>): Promise<Answer> {
    const [mode, challenge, token] = ['hub.mode', 'hub.challenge', 'hub.verify_token'].map((name) => {
      const [value, ...more] = query.getAll(name)
      return more.length === 0 ? (value ?? '') : ''
    })
    // It is echoed in the reply, so only what Meta sends is allowed: digits, or at most a word.
    if (mode !== 'subscribe' || !challenge || !token || !/^[\w.-]{1,256}$/.test(challenge)) return WRONG_TOKEN
    const fits = await this.#apps.findFitting(callbackApp, app, ({ secretsOf }) =>
      isAnyOf(token, secretsOf.verifyToken),
    )
    if (fits) return [200, challenge, 'verified']
    return app.unreadable > 0 ? UNREADABLE : WRONG_TOKEN
  }

  async #take({ headers, body, callbackApp }: CallbackRequest, app: VerifiedApp<ProvingSecret>): Promise<Answer> {
    const signature = readSignature(headers['x-hub-signature-256'])
    if (!signature) return FORGED
    const fits = await this.#apps.findFitting(callbackApp, app, ({ secretsOf }) =>
      isSignedByAny(body, signature, secretsOf.appSecret),
    )
    if (!fits) return app.unreadable > 0 ? UNREADABLE : FORGED
    const parsed = parseBody(body)
    if (!parsed) return NOT_JSON
    const { parts, ignored } = readCallback(parsed.value)
    const { reports, unknown } = routeParts(parts, fits.connections)
    for (const [reason, count] of [...ignored, ['number_unknown', unknown] as const])
      if (count > 0) this.#parts.note({ event: 'callback.ignored', channel: WHATSAPP_CLOUD, reason, count })
    if (reports.length === 0) return NOTHING_OF_OURS
    const { memory, clock, applying } = this.#parts
    const now = clock.now()
    const storing = { taker: applying.taker(), receivedAt: now, tries: 0, remindAt: now + LEFT_FOR_THE_CALL_MS }
    await Promise.all(
      reports.flatMap((report) => [
        storeReportedOf(memory, report, storing),
        this.#reportNotes.note(report.connectionId, now),
      ]),
    )
    applying.poke()
    return STORED
  }

  #reply([status, body, outcome]: Answer, startedMs: number): CallbackReply {
    this.#noteReceived(outcome, startedMs)
    return { status, body }
  }

  #noteReceived(outcome: Outcome, startedMs: number): void {
    const tookMs = Math.round(this.#parts.clock.monotonic() - startedMs)
    this.#parts.note({ event: 'callback.received', channel: WHATSAPP_CLOUD, outcome, tookMs })
  }
}
