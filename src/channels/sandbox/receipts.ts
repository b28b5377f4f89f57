import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { ChannelEvents, Receipt } from '../../core/ports/channel.ts'
import type { ChannelState, MemoryEntry } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'

const KIND = 'receipt'
// Each query is one read of an index, made by each worker.
const QUERY_EVERY_MS = 2_000
// The worker that planned a receipt reports it in time. If it is overdue by this much, that worker is dead or storage was away.
const LEFT_TO_PLANNER_MS = 2_000
// Later receipts have no timer, so a million receipts of tomorrow need no memory. A query finds them.
const TIMED_MS = 30_000
const MOST_AT_ONCE = 500
// The receipts that one query found are most likely reported by then.
const NEXT_QUERY_AFTER_MS = 50

/** The attempt whose message a receipt speaks of. */
interface Reported {
  readonly connectionId: ConnectionId
  readonly messageId: MessageId
  readonly attemptNumber: number
}

export interface PlannedReceipt {
  readonly kind: Receipt['kind']
  readonly dueAt: Instant
  readonly code: Receipt['code']
  readonly words: string | null
}

type Stored = PlannedReceipt & Omit<Reported, 'connectionId'>

/**
 * Reports that the sandbox's network makes later. They are stored until they are applied, so none is lost: the worker that
 * planned one reports it, and if that worker dies, any other worker finds it by a query. Two workers may report the same,
 * which is harmless: a repeat is recognised by its time.
 */
export class SandboxReceipts {
  readonly #memory: ChannelState
  readonly #clock: Clock
  #events: ChannelEvents | null = null
  readonly #timers = new Set<() => void>()
  readonly #reporting = new Set<number>()
  #cancelTimer: (() => void) | null = null

  constructor(memory: ChannelState, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  async start(events: ChannelEvents): Promise<void> {
    this.#events = events
    await this.#query()
  }

  /** Harmless twice or before start. */
  stop(): void {
    this.#events = null
    this.#cancelTimer?.()
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }

  /** Durable when it resolves. Harmless twice. */
  async plan(reported: Reported, receipt: PlannedReceipt): Promise<void> {
    const { connectionId, messageId, attemptNumber } = reported
    const { dueAt } = receipt
    const now = this.#clock.now()
    const stored: Stored = { messageId, attemptNumber, ...receipt }
    const key = keyOf(reported, receipt.kind)
    const entry = { connectionId, key, value: JSON.stringify(stored), at: now, remindAt: dueAt }
    if ((await this.#memory.add(KIND, entry)) && isTimed(dueAt, now)) this.#schedule(connectionId, key, dueAt)
  }

  /** False, too, once it has been reported. */
  async isPlanned(reported: Reported, kind: Receipt['kind']): Promise<boolean> {
    return (await this.#memory.find(KIND, reported.connectionId, keyOf(reported, kind))) !== null
  }

  #schedule(connectionId: ConnectionId, key: string, dueAt: Instant): void {
    const cancel = this.#clock.after(Math.max(0, dueAt - this.#clock.now()), () => {
      this.#timers.delete(cancel)
      void this.#reportInTime(connectionId, key)
    })
    this.#timers.add(cancel)
  }

  /** Reads it from storage first, because another worker may have reported it. */
  async #reportInTime(connectionId: ConnectionId, key: string): Promise<void> {
    // If storage is away, a later query finds it.
    const entry = await this.#memory.find(KIND, connectionId, key).catch(() => null)
    if (entry) await this.#report(entry)
  }

  async #query(): Promise<void> {
    let delayMs = QUERY_EVERY_MS
    try {
      const entries = await this.#memory.due(KIND, this.#clock.now(), MOST_AT_ONCE + this.#reporting.size)
      const overdue = entries.filter((entry) => this.#isOurs(entry)).slice(0, MOST_AT_ONCE)
      for (const entry of overdue) void this.#report(entry)
      if (overdue.length === MOST_AT_ONCE) delayMs = NEXT_QUERY_AFTER_MS
    } catch {
      // Storage logs by itself that it is away.
    }
    // Jittered, so that workers which started together do not all find the same.
    const jitter = 0.75 + this.#clock.random() / 2
    if (this.#events) this.#cancelTimer = this.#clock.after(delayMs * jitter, () => void this.#query())
  }

  #isOurs({ position, at, value }: MemoryEntry): boolean {
    if (this.#reporting.has(position)) return false
    const { dueAt } = JSON.parse(value) as Stored
    return !isTimed(dueAt, at) || dueAt + LEFT_TO_PLANNER_MS <= this.#clock.now()
  }

  async #report({ position, connectionId, value }: MemoryEntry): Promise<void> {
    const events = this.#events
    if (!events || this.#reporting.has(position)) return
    this.#reporting.add(position)
    const { messageId, attemptNumber, kind, dueAt, code, words } = JSON.parse(value) as Stored
    const about = { connectionId, messageId, attemptNumber, networkId: null }
    try {
      await events.receipt({ ...about, kind, at: dueAt, code, words })
      await this.#memory.remove(KIND, position)
    } catch {
      // Storage is away, or the attempt does not end. It is still stored: a later query reports it.
    } finally {
      this.#reporting.delete(position)
    }
  }
}

/**
 * A person reads on the phone of a recipient. Beside a read that is planned for later: this one comes first. It is due at once,
 * and reported by whichever worker asks next.
 */
export async function planRead(memory: ChannelState, reported: Reported, now: Instant): Promise<void> {
  const { connectionId, messageId, attemptNumber } = reported
  const stored: Stored = { messageId, attemptNumber, kind: 'read', dueAt: now, code: null, words: null }
  const key = `${keyOf(reported, 'read')}#by-hand`
  // As if planned long ago: no worker has a timer for it.
  const at = now - TIMED_MS - 1
  await memory.add(KIND, { connectionId, key, value: JSON.stringify(stored), at, remindAt: now })
}

/** With the attempt's number: a message that was delivered twice is reported twice. */
function keyOf({ messageId, attemptNumber }: Reported, kind: Receipt['kind']): string {
  return `${messageId}#${attemptNumber}#${kind}`
}

function isTimed(dueAt: Instant, plannedAt: Instant): boolean {
  return dueAt - plannedAt <= TIMED_MS
}
