import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '../black-box/random.ts'
import { digitsOf } from './call-faults.ts'
import { asStatusError } from './graph-error.ts'
import { signCallback, writeMetaJson } from './meta-json.ts'
import type { CallbackPlan, CallbackStatus, CallbackTry, SentMessage, SimulatedNumber } from './simulator-types.ts'

const STATUSES: readonly CallbackStatus[] = ['sent', 'delivered', 'read']
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
const RETRY_MS = 500
// Longer pauses would only make tests wait.
const LONGEST_RETRY_MS = 5_000
const ANSWER_WITHIN_MS = 10_000
const MOST_REPEATS = 2
// How long a batch waits for more statuses.
const BATCH_WAITS_MS = 30

type Value = Readonly<Record<string, unknown>>

/** One thing to report, with the fields that its `value` needs. */
interface Change {
  readonly number: SimulatedNumber
  readonly field: string
  readonly value: Value
}

interface Outbox {
  readonly plan: CallbackPlan
  readonly changes: Change[]
  isLeaving: boolean
}

interface Failing {
  readonly code: number
  readonly details: string | undefined
}

/** Reports to callback URLs what becomes of messages: at least once, in no guaranteed order, signed over the exact bytes. */
export class CallbackSender {
  readonly tries: CallbackTry[] = []
  readonly #random: Random
  readonly #now: () => number
  readonly #onTry: (tried: CallbackTry) => void
  readonly #plans: CallbackPlan[] = []
  readonly #failures = new Map<object, number>()
  readonly #outboxes = new Map<string, Outbox>()
  readonly #stopping = new AbortController()
  readonly #waiting = new Set<Promise<unknown>>()

  constructor(parts: { random: Random; now: () => number; onTry: (tried: CallbackTry) => void }) {
    this.#random = parts.random
    this.#now = parts.now
    this.#onTry = parts.onTry
  }

  /** The newest plan for a number is the one that applies. */
  plan(plan: CallbackPlan): void {
    this.#plans.unshift(plan)
  }

  planOf({ phoneNumberId }: Pick<SimulatedNumber, 'phoneNumberId'>): CallbackPlan | null {
    return this.#plans.find(({ phoneNumberIds }) => phoneNumberIds?.includes(phoneNumberId) ?? true) ?? null
  }

  /** Decides whether a message that is accepted now fails later. */
  drawFailure({ failLater }: CallbackPlan, waId: string): Failing | null {
    if (!failLater) return null
    const { code, details, to, rate = 1, times = Number.POSITIVE_INFINITY } = failLater
    const failedSoFar = this.#failures.get(failLater) ?? 0
    if ((to !== undefined && digitsOf(to) !== waId) || failedSoFar >= times) return null
    if (rate < 1 && this.#random.next() >= rate) return null
    this.#failures.set(failLater, failedSoFar + 1)
    return { code, details }
  }

  stop(): void {
    this.#stopping.abort()
  }

  async idle(): Promise<void> {
    while (this.#waiting.size > 0) await Promise.all(this.#waiting)
  }

  /**
   * Reports the statuses. Resolves when the call may be answered: at once, unless the first status is to come before the answer.
   */
  async reportResult(number: SimulatedNumber, message: SentMessage, failing: Failing | null): Promise<void> {
    const plan = this.planOf(number)
    if (!plan) return
    const kinds: readonly (CallbackStatus | 'failed')[] = failing ? ['failed'] : (plan.statuses ?? STATUSES)
    let [dueMs, first] = [0, Promise.resolve()]
    const isEarly = this.#random.next() < (plan.beforeAnswer ?? 0)
    for (const [place, status] of kinds.entries()) {
      const isEarliest = place === 0 && isEarly
      if (this.#random.next() < (plan.lose ?? 0)) continue
      const delayMs = this.#drawDelay(plan)
      dueMs = plan.shuffle ? delayMs : dueMs + delayMs
      const change = { number, field: 'messages', value: this.#statusOf(message, status, { plan, number, failing }) }
      const reported = this.#hold(this.#reportLater(plan, change, isEarliest ? 0 : dueMs))
      if (isEarliest) first = reported
    }
    await first
  }

  /** Reports a change of any other field. */
  report(number: SimulatedNumber, field: string, value: Value): void {
    const plan = this.planOf(number)
    if (plan) void this.#hold(this.#reportLater(plan, { number, field, value }, 0))
  }

  metadataOf(number: SimulatedNumber): Value {
    return {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: number.number, phone_number_id: number.phoneNumberId },
    }
  }

  #statusOf(
    message: SentMessage,
    status: CallbackStatus | 'failed',
    { plan, number, failing }: { plan: CallbackPlan; number: SimulatedNumber; failing: Failing | null },
  ): Value {
    const isEchoed = message.opaque !== null && (status !== 'failed' || plan.echoesOnFailed !== false)
    return {
      ...this.metadataOf(number),
      statuses: [
        {
          id: message.wamid,
          status,
          timestamp: String(Math.floor(this.#now() / 1_000)),
          recipient_id: message.waId,
          ...(isEchoed ? { biz_opaque_callback_data: message.opaque } : {}),
          ...(status === 'sent' || status === 'delivered'
            ? { pricing: { billable: true, pricing_model: 'PMP', type: 'regular', category: 'service' } }
            : {}),
          ...(status === 'failed' && failing ? { errors: [asStatusError(failing.code, failing.details)] } : {}),
        },
      ],
    }
  }

  async #reportLater(plan: CallbackPlan, change: Change, delayMs: number): Promise<void> {
    if (delayMs > 0) await this.#pause(delayMs)
    const batch = plan.batch ?? 1
    if (batch <= 1) return this.#deliver(plan, [change])
    // Changes for the same URL under the same secret can share a body.
    const name = `${plan.url} ${change.number.appSecret}`
    const outbox = this.#outboxes.get(name) ?? { plan, changes: [], isLeaving: false }
    this.#outboxes.set(name, outbox)
    outbox.changes.push(change)
    if (!outbox.isLeaving) void this.#hold(this.#empty(outbox, batch))
  }

  async #empty(outbox: Outbox, batch: number): Promise<void> {
    outbox.isLeaving = true
    await this.#pause(BATCH_WAITS_MS)
    outbox.isLeaving = false
    while (outbox.changes.length > 0) {
      void this.#hold(this.#deliver(outbox.plan, outbox.changes.splice(0, batch)))
    }
  }

  async #deliver(plan: CallbackPlan, changes: readonly Change[]): Promise<void> {
    await this.#deliverOnce(plan, changes)
    for (let again = 0; again < MOST_REPEATS && this.#random.next() < (plan.repeat ?? 0); again += 1) {
      await this.#pause(this.#drawDelay(plan))
      await this.#deliverOnce(plan, changes)
    }
  }

  // Repeats until the answer is 200, as the page "Webhooks" says. Every try has the same bytes.
  async #deliverOnce(plan: CallbackPlan, changes: readonly Change[]): Promise<void> {
    const body = writeMetaJson({ object: 'whatsapp_business_account', entry: entriesOf(changes) })
    const secret = changes[0]?.number.appSecret ?? ''
    const signature = signCallback(body, plan.forgeSignature ? `${secret}?` : secret)
    const endsAt = performance.now() + (plan.giveUpAfterMs ?? WEEK_MS)
    let retryMs = plan.retryMs ?? RETRY_MS
    for (let tryNumber = 1; !this.#stopping.signal.aborted; tryNumber += 1) {
      const status = await this.#post({ url: plan.url, body, signature, tryNumber })
      if (status === 200 || performance.now() + retryMs > endsAt) return
      await this.#pause(retryMs)
      retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)
    }
  }

  async #post(one: { url: string; body: string; signature: string; tryNumber: number }): Promise<number | null> {
    const { url, body, signature } = one
    const startedAt = performance.now()
    const status = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'facebookexternalua',
        'x-hub-signature-256': signature,
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    }).then(
      async (response) => {
        await response.arrayBuffer().catch(() => null)
        return response.status
      },
      () => null,
    )
    const tried = { ...one, status, tookMs: performance.now() - startedAt, at: this.#now() }
    this.tries.push(tried)
    this.#onTry(tried)
    return status
  }

  #drawDelay({ delayMs = 0 }: CallbackPlan): number {
    const [least, most] = typeof delayMs === 'number' ? [delayMs, delayMs] : delayMs
    return least + this.#random.next() * (most - least)
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, null, { signal: this.#stopping.signal, ref: false }).catch(() => null)
  }

  #hold<Result>(work: Promise<Result>): Promise<Result> {
    this.#waiting.add(work)
    const done = () => this.#waiting.delete(work)
    work.then(done, done)
    return work
  }
}

function entriesOf(changes: readonly Change[]): unknown[] {
  const byAccount = Map.groupBy(changes, ({ number }) => number.businessAccountId)
  return [...byAccount].map(([id, own]) => ({ id, changes: own.map(({ field, value }) => ({ field, value })) }))
}
