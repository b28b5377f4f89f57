import { randomUUID } from 'node:crypto'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { MemoryEntry } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'

/** Each query is one read of an index, made by each worker. Reports that this process stores itself need no query. */
export const QUERY_EVERY_MS = 1_000
// Reports that come in within this time share their commits. The delay goes unnoticed: networks take longer to report.
const POKED_AFTER_MS = 100
// The process that stored a report applies it at once. If it is overdue by this much, that process is gone or falls behind.
const LEFT_TO_TAKER_MS = 2_000

/** Applies what is due, now and again, and at once what this process has stored itself. */
export class DueLoop {
  readonly #clock: Clock
  readonly #applyDue: (events: ChannelEvents) => Promise<number>
  readonly #id = randomUUID()
  #events: ChannelEvents | null = null
  #cancelTimer: (() => void) | null = null
  #querying: Promise<void> | null = null
  #isPoked = false

  /** `applyDue` resolves with the milliseconds after which there may be more. It may reject when storage is away. */
  constructor(clock: Clock, applyDue: (events: ChannelEvents) => Promise<number>) {
    this.#clock = clock
    this.#applyDue = applyDue
  }

  start(events: ChannelEvents): void {
    this.#events = events
    this.#scheduleQuery(0)
  }

  /** Resolves once nothing is being applied any more; what is left is found by others. Harmless twice or before start. */
  async stop(): Promise<void> {
    this.#events = null
    this.#cancelTimer?.()
    await this.#querying
  }

  /** The name under which other processes leave entries to this one for a while; null while it applies nothing. */
  taker(): string | null {
    return this.#events && this.#id
  }

  /** Whether an entry that became due at this time is still left to the process that stored it. */
  isLeftToOther(taker: string | null, at: number): boolean {
    return taker !== null && taker !== this.#id && at + LEFT_TO_TAKER_MS > this.#clock.now()
  }

  /** Something was stored in this process. Cheap, and harmless before start. */
  poke(): void {
    if (!this.#events || this.#isPoked) return
    this.#isPoked = true
    if (!this.#querying) this.#scheduleQuery(POKED_AFTER_MS)
  }

  #scheduleQuery(delayMs: number): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#querying = this.#query().finally(() => {
        this.#querying = null
      })
    })
  }

  async #query(): Promise<void> {
    this.#isPoked = false
    const events = this.#events
    if (!events) return
    let delayMs = QUERY_EVERY_MS
    try {
      delayMs = await this.#applyDue(events)
    } catch {
      // Storage logs by itself that it is away. All that was found is found again.
    }
    // Jittered, so that workers which started together do not all find the same.
    const jitter = 0.75 + this.#clock.random() / 2
    if (this.#events) this.#scheduleQuery(this.#isPoked ? POKED_AFTER_MS : delayMs * jitter)
  }
}

/** At most half of the limit for each connection, so that a query never returns one connection alone. */
export const MOST_FOUND = { limit: 200, mostEach: 100 }

/** Whether more may be due than was found. Entries that are left to other processes are no reason to query again at once. */
export function isFull(found: readonly MemoryEntry[], done: readonly Pick<MemoryEntry, 'connectionId'>[]): boolean {
  if (found.length === MOST_FOUND.limit) return done.length > 0
  const counts = Map.groupBy(found, ({ connectionId }) => connectionId)
  return done.some(({ connectionId }) => counts.get(connectionId)?.length === MOST_FOUND.mostEach)
}
