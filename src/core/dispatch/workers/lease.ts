import type { Instant, WorkerId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Lanes } from '../../ports/lanes.ts'

// Short, because the lanes of a crashed worker stop for this long. It need not outlast a send: a call that is still running
// when the lease ends is aborted, and its outcome is unknown.
export const LEASE_MS = 15_000
// A fifth of the lease. Three renewals may get lost before a healthy worker loses its lanes, and other workers notice the end
// of a lease at most this long after it: 18 s after the last heartbeat, where 20 s are promised (G6).
export const RENEW_EVERY_MS = 3_000
const RENEW_AGAIN_AFTER_MS = 1_000
// The holder stops this much earlier than others may begin: time passes between its check of the clock and the call.
const MARGIN_MS = 3_000
// Far above any skew between processes. A lease that ends later was written before the clock of the database was set back.
export const LONGEST_LEASE_MS = 60_000

/** Whether a worker with this heartbeat is alive. */
export function hasValidLease(heartbeatUntil: Instant, now: Instant): boolean {
  return heartbeatUntil > now && heartbeatUntil <= now + LONGEST_LEASE_MS
}

/** The same as a condition in SQL. The stored function `has_valid_lease` on PostgreSQL must agree with it. */
export function validLeaseSql(now: string): string {
  return `(heartbeat_until > ${now} and heartbeat_until - ${LONGEST_LEASE_MS} <= ${now})`
}

// Two renewals are missing.
const SILENT_AFTER_MS = 2 * RENEW_EVERY_MS + RENEW_AGAIN_AFTER_MS

/** Whether a worker shows no sign of life: it was killed, stands still or is cut off, and may come back until its lease ends. */
export function isSilent(heartbeatUntil: Instant, now: Instant): boolean {
  return !hasValidLease(heartbeatUntil, now) || heartbeatUntil - LEASE_MS + SILENT_AFTER_MS < now
}

/**
 * A worker's right to its lanes: one lease for all of them. Before each call the worker checks `isHeld`, because SQL can
 * refuse a late record but cannot stop a process that was paused from calling the network (G6).
 */
export class WorkerLease {
  readonly #onRenewed: (members: readonly WorkerId[]) => void
  readonly #lanes: Lanes
  readonly #clock: Clock
  readonly #journal: Journal
  readonly #worker: WorkerId
  #endsMonotonic = Number.NEGATIVE_INFINITY
  #endsByWall: Instant = Number.NEGATIVE_INFINITY
  #generation = 0
  #members: readonly WorkerId[] = []
  #cancelTimer: (() => void) | null = null
  #renewal: Promise<void> | null = null
  #waiting: (() => void)[] = []
  #stopped = true

  constructor(parts: {
    lanes: Lanes
    clock: Clock
    journal: Journal
    worker: WorkerId
    /** Called before waiters for the lease go on. */
    onRenewed?: (members: readonly WorkerId[]) => void
  }) {
    this.#lanes = parts.lanes
    this.#clock = parts.clock
    this.#journal = parts.journal
    this.#worker = parts.worker
    this.#onRenewed = parts.onRenewed ?? (() => {})
  }

  async start(): Promise<void> {
    this.#stopped = false
    await this.#renewOnce()
  }

  /** Resolves once no heartbeat is running: one that is committed after the lease was deleted would create it again. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#endsMonotonic = Number.NEGATIVE_INFINITY
    this.#release()
    await this.#renewal
  }

  /**
   * True while no other worker can have taken our lanes. Both clocks are checked: the monotonic one stops while the machine
   * is suspended, and the wall clock can be set.
   */
  isHeld(): boolean {
    return this.#clock.monotonic() < this.#endsMonotonic && this.#clock.wall() < this.#endsByWall
  }

  /** The workers that the last heartbeat found alive, this one among them. Empty before the first. */
  get members(): readonly WorkerId[] {
    return this.#members
  }

  /** Increases each time the lease was lost and acquired again. In between, others may have taken our lanes. */
  get generation(): number {
    return this.#generation
  }

  /** Resolves when the lease is held, or when the worker stops. */
  async untilHeld(): Promise<void> {
    while (!this.isHeld() && !this.#stopped) {
      if (!this.#renewal) void this.#renewOnce()
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #renewOnce(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = null
    })
    return this.#renewal
  }

  async #renew(): Promise<void> {
    this.#cancelTimer?.()
    // Both are read before the request: however long it takes, our lease ends before the one in the database.
    const monotonic = this.#clock.monotonic()
    const wall = this.#clock.wall()
    try {
      this.#members = await this.#lanes.heartbeat(this.#worker, LEASE_MS)
      if (this.#stopped) return
      if (!this.isHeld()) this.#generation += 1
      this.#endsMonotonic = monotonic + LEASE_MS - MARGIN_MS
      this.#endsByWall = wall + LEASE_MS - MARGIN_MS
      this.#schedule(RENEW_EVERY_MS)
      this.#onRenewed(this.#members)
      this.#release()
    } catch (error) {
      this.#journal.record({ event: 'storage.unavailable', error })
      this.#schedule(RENEW_AGAIN_AFTER_MS)
    }
  }

  #schedule(delayMs: number): void {
    if (!this.#stopped) this.#cancelTimer = this.#clock.after(delayMs, () => void this.#renewOnce())
  }

  #release(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
