import { decideAfterTry } from '../core/notifications/decide-after-try.ts'
import { webhookSecretPlace } from '../core/notifications/draw-webhook.ts'
import type { Clock } from '../core/ports/clock.ts'
import type { ClaimedDelivery, Deliveries, DeliveryWatch, TriedDelivery } from '../core/ports/deliveries.ts'
import type { GuardedPost, PostEnd } from '../core/ports/guarded-post.ts'
import type { Journal } from '../core/ports/journal.ts'
import { type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import { signNotification } from './sign-notification.ts'

// The delay until a new notification is sent. A poll without work takes some microseconds.
const POLL_EVERY_MS = 250
// While no account has a webhook. It delays the first notification of the first webhook.
const POLL_UNUSED_EVERY_MS = 2_000
// After a failed poll: the database is unavailable.
const POLL_AFTER_ERROR_MS = 5_000
/** How many tries this process makes at once. */
const MOST_AT_ONCE = 32
// At most so many of those to failing webhooks, each of which may hang until the time limit of a try.
const MOST_FAILING = MOST_AT_ONCE / 2
// Longer than a try can take, including a wait for the database to record it.
const LEASE_MS = 60_000
// Expiry of tokens is announced by the day.
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
  /** How many days the installation keeps messages; 0: for ever. */
  readonly messagesDays: number
}

/**
 * Posts the notifications of accounts to their webhooks. Any number of processes run one each.
 *
 *   poll ▶ fan out new notices ▶ claim due deliveries ▶ post, many at once ▶ record ─┐
 *     ▲                                                                              │
 *     └────── 250 ms later, or at once while there is more ──────────────────────────┘
 *             2 s later while no account has a webhook
 *
 * The claims of a process that dies expire. Then another process posts the same notification again, with the same id. So each
 * arrives at least once, and a receiver that stores ids can ignore repeats.
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

  /** Waits that long for running tries, then aborts them. The next process repeats those. */
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
      this.#turn = this.#poll().then(
        (delayMs) => this.#after(delayMs),
        (error: unknown) => {
          this.#parts.journal.record({ event: 'storage.unavailable', error })
          this.#after(POLL_AFTER_ERROR_MS)
        },
      )
    })
  }

  /** Returns the milliseconds until the next poll. */
  async #poll(): Promise<number> {
    const { watch } = this.#parts
    const { isListened, isDue } = await watch.pollDeliveries()
    if (!isListened) return POLL_UNUSED_EVERY_MS
    await this.#runMaintenance()
    if (!isDue) return POLL_EVERY_MS
    const fannedOut = await this.#fanOut()
    const room = MOST_AT_ONCE - this.#running.size
    const wanted = { room, roomForFailing: MOST_FAILING - this.#failing, leaseMs: LEASE_MS }
    const claimed = room > 0 ? await this.#parts.deliveries.claimDue(wanted) : []
    for (const delivery of claimed) this.#begin(delivery)
    return fannedOut > 0 ? 0 : POLL_EVERY_MS
  }

  async #fanOut(): Promise<number> {
    const { notifications: notices, dropped, damaged } = await this.#parts.deliveries.fanOut()
    if (dropped > 0) this.#parts.journal.record({ event: 'deliveries.dropped', count: dropped })
    for (const id of damaged) {
      const error = new Error(`The notice ${id} cannot be read, so it is not sent.`)
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

  /** Runs beside the tries, with pauses in between. */
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
      // Its claim expires by itself. An abort by `stop` is no fault.
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
    const result = decideAfterTry(end, { number: delivery.scheduled, now: clock.now(), jitter: clock.random() })
    const { accountId, webhookId, position, claim, number } = delivery
    journal.record({
      event: 'delivery.tried',
      webhookId,
      position,
      number,
      code: result.code,
      status: result.status,
      tookMs,
    })
    await this.#record({ accountId, webhookId, position, claim, number, at, tookMs, checked: result })
  }

  async #post(
    { accountId, webhookId, notificationId, payload, url, secrets }: ClaimedDelivery,
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
    const headers = signNotification({ notificationId, payload, at, secrets: opened })
    return this.#parts.post.post({ url, headers, body: payload }, this.#ending.signal)
  }

  /** Tries that end in the same tick share a transaction. */
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
    // Deliveries may be waiting for the room that this one has left.
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
        // A try that cannot be recorded is repeated once its claim has expired.
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
