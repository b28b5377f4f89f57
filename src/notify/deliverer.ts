import { checkDeliveryTry } from '../core/notifications/check-delivery-try.ts'
import { webhookSecretPlace } from '../core/notifications/draw-webhook.ts'
import type { Clock } from '../core/ports/clock.ts'
import type { ClaimedDelivery, Deliveries, DeliveryWatch, TriedDelivery } from '../core/ports/deliveries.ts'
import type { GuardedPost, PostEnd } from '../core/ports/guarded-post.ts'
import type { Journal } from '../core/ports/journal.ts'
import { type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import { signNotification } from './sign-notification.ts'

// How soon a notice is on its way. A look costs some microseconds where there is nothing.
const LOOK_EVERY_MS = 250
// Where no account has a webhook. So the first notice to the first webhook comes that much later.
const POLL_UNUSED_EVERY_MS = 2_000
// After a look that failed: the database is away.
const POLL_EVERY_MS = 5_000
/** How many tries this process makes at once. */
export const MOST_AT_ONCE = 32
// Of those, how many of webhooks that fail: each may hang for as long as a try may last.
const MOST_FAILING = MOST_AT_ONCE / 2
// Longer than a try can take, with a record that had to wait for the database.
const LEASE_MS = 60_000
// Expiry of tokens is told by the day.
const TOKENS_EVERY_MS = 10 * 60_000
const SWEEP_EVERY_MS = 10 * 60_000
const MOST_SWEEPS = 500
const BETWEEN_SWEEPS_MS = 50
const RECORD_TRIES = 5
const RECORD_AGAIN_MS = 500

interface DelivererParts {
  readonly watch: DeliveryWatch
  readonly deliveries: Deliveries
  readonly post: GuardedPost
  readonly secrets: Secrets
  readonly clock: Clock
  readonly journal: Journal
  /** How long the installation keeps messages; 0 is for ever. */
  readonly messagesDays: number
}

/**
 * Posts what accounts are to be told. Any number of processes run one each.
 *
 *   look ▶ spread new notices ▶ claim what is due ▶ post, many at once ▶ record ─┐
 *     ▲                                                                          │
 *     └────── 250 ms later, or at once while there is more ──────────────────────┘
 *             2 s later while no account has a webhook
 *
 * A process that dies in between has only claims that end by themselves: then the same is posted again, with the same
 * id. So a notice arrives at least once, and a receiver that keeps ids takes it once.
 */
export class Deliverer {
  readonly #parts: DelivererParts
  readonly #running = new Set<Promise<void>>()
  readonly #ending = new AbortController()
  #cancel: () => void = () => {}
  #turn: Promise<void> = Promise.resolve()
  #failing = 0
  #recorded: TriedDelivery[] = []
  #recording: Promise<void> | null = null
  #nextTokensAt = 0
  #nextSweepAt = 0
  #isStopped = false

  constructor(parts: DelivererParts) {
    this.#parts = parts
  }

  start(): void {
    this.#after(0)
  }

  /** Lets running tries come to their end for so long, then cuts them off: they are made again by whoever comes. */
  async stop(finishWithinMs: number): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    const cut = setTimeout(() => this.#ending.abort(new Error('The service stops')), finishWithinMs)
    await this.#turn
    await Promise.all(this.#running)
    await this.#recording
    clearTimeout(cut)
  }

  #after(ms: number): void {
    if (this.#isStopped) return
    this.#cancel = this.#parts.clock.after(ms, () => {
      this.#turn = this.#look().then(
        (delayMs) => this.#after(delayMs),
        (error: unknown) => {
          this.#parts.journal.record({ event: 'storage.unavailable', error })
          this.#after(POLL_EVERY_MS)
        },
      )
    })
  }

  /** Returns after how many milliseconds to look again. */
  async #look(): Promise<number> {
    const { watch } = this.#parts
    const { isListened, isDue } = await watch.pollDeliveries()
    if (!isListened) return POLL_UNUSED_EVERY_MS
    await this.#runMaintenance()
    if (!isDue) return LOOK_EVERY_MS
    const spread = await this.#spread()
    const room = MOST_AT_ONCE - this.#running.size
    const wanted = { room, roomForFailing: MOST_FAILING - this.#failing, leaseMs: LEASE_MS }
    const claimed = room > 0 ? await this.#parts.deliveries.claimDue(wanted) : []
    for (const delivery of claimed) this.#begin(delivery)
    return spread > 0 ? 0 : LOOK_EVERY_MS
  }

  async #spread(): Promise<number> {
    const { notices, dropped, damaged } = await this.#parts.deliveries.spread()
    if (dropped > 0) this.#parts.journal.record({ event: 'deliveries.dropped', count: dropped })
    for (const id of damaged) {
      const error = new Error(`The notice ${id} cannot be read. Nobody is told of it.`)
      this.#parts.journal.record({ event: 'fault', where: 'a notice', error })
    }
    return notices
  }

  async #runMaintenance(): Promise<void> {
    const { clock, deliveries } = this.#parts
    const now = clock.now()
    if (now >= this.#nextTokensAt) {
      await deliveries.announceTokens()
      this.#nextTokensAt = now + TOKENS_EVERY_MS
    }
    if (now < this.#nextSweepAt) return
    this.#nextSweepAt = now + SWEEP_EVERY_MS
    this.#track(this.#sweep())
  }

  /** Beside the tries, with rests in between. */
  async #sweep(): Promise<void> {
    try {
      for (let part = 0; part < MOST_SWEEPS && !this.#isStopped; part++) {
        if (!(await this.#parts.deliveries.sweep(this.#parts.messagesDays))) return
        await new Promise<void>((resolve) => setTimeout(resolve, BETWEEN_SWEEPS_MS))
      }
    } catch (error) {
      this.#parts.journal.record({ event: 'storage.unavailable', error })
    }
  }

  #track(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  #begin(delivery: ClaimedDelivery): void {
    const failing = delivery.isFailing ? 1 : 0
    this.#failing += failing
    const trying = this.#try(delivery).catch((error: unknown) => {
      // Its claim ends by itself. Cut off by a stop, it is no fault.
      if (!this.#ending.signal.aborted) this.#parts.journal.record({ event: 'fault', where: 'a webhook', error })
    })
    this.#track(
      trying.finally(() => {
        this.#failing -= failing
      }),
    )
  }

  async #try(delivery: ClaimedDelivery): Promise<void> {
    const { clock, journal } = this.#parts
    const at = clock.now()
    const began = performance.now()
    const end = await this.#post(delivery, at)
    const tookMs = Math.round(performance.now() - began)
    const judged = checkDeliveryTry(end, { number: delivery.scheduled, now: clock.now(), lot: clock.random() })
    const { accountId, webhookId, position, claim, number } = delivery
    journal.record({
      event: 'delivery.tried',
      webhookId,
      position,
      number,
      code: judged.code,
      status: judged.status,
      tookMs,
    })
    await this.#record({ accountId, webhookId, position, claim, number, at, tookMs, judged })
  }

  async #post(
    { accountId, webhookId, noticeId, payload, url, secrets }: ClaimedDelivery,
    at: number,
  ): Promise<PostEnd> {
    const opened: string[] = []
    try {
      const place = webhookSecretPlace(accountId, webhookId)
      for (const sealed of secrets) opened.push(this.#parts.secrets.open(sealed, place))
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error
      return { kind: 'failed', code: 'secret_unreadable', words: error.message }
    }
    const headers = signNotification({ noticeId, payload, at, secrets: opened })
    return this.#parts.post.post({ url, headers, body: payload }, this.#ending.signal)
  }

  /** Those that end in one turn share a transaction. */
  #record(tried: TriedDelivery): Promise<void> {
    this.#recorded.push(tried)
    this.#recording ??= this.#writeAll().finally(() => {
      this.#recording = null
    })
    return this.#recording
  }

  async #writeAll(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#recorded.length > 0) {
      const batch = this.#recorded
      this.#recorded = []
      await this.#write(batch)
    }
    // Whoever still waits for this one is not kept waiting for the next look.
    this.#hurry()
  }

  async #write(batch: readonly TriedDelivery[]): Promise<void> {
    const { deliveries, journal } = this.#parts
    for (let tries = 1; ; tries++) {
      try {
        for (const { accountId, webhookId, code } of await deliveries.record(batch))
          journal.record({ event: 'webhook.disabled', accountId, webhookId, code })
        return
      } catch (error) {
        journal.record({ event: 'storage.unavailable', error })
        // What cannot be written is tried again once its claim has ended.
        if (tries === RECORD_TRIES || this.#ending.signal.aborted) return
        await new Promise<void>((resolve) => setTimeout(resolve, RECORD_AGAIN_MS))
      }
    }
  }

  #hurry(): void {
    if (this.#isStopped) return
    this.#cancel()
    void this.#turn.then(() => {
      this.#cancel()
      this.#after(0)
    })
  }
}
