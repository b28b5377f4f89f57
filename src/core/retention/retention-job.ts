import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'
import { StorageUnavailable } from '../ports/lanes.ts'
import type { Retention } from '../ports/retention.ts'
import type { SweepTimes } from './plan-sweep.ts'
import { runSweep, type Swept } from './run-sweep.ts'

const HOUR_MS = 3_600_000
// A day's deletions in small parts, so that there is never much to do at once.
const SWEEP_EVERY_MS = HOUR_MS
const FIRST_AFTER_MS = 60_000
// The rest after a step, in times of its duration: deleting takes at most a tenth of one processor or of the database.
const REST_TIMES = 10
const LEAST_REST_MS = 5
/** After this long without a sweep the next one is announced a day ahead: otherwise a clock that jumped would delete everything. */
const LONG_PAUSE_MS = 7 * 24 * HOUR_MS
export const NOTIFIED_BEFORE_MS = 24 * HOUR_MS

interface RetentionJobParts {
  readonly storage: Retention
  readonly times: SweepTimes
  readonly worker: string
  readonly clock: Clock
  readonly journal: Journal
  /** What went from the sandbox's inbox, by message. */
  readonly onDeliveriesGone: (messageIds: readonly string[]) => Promise<void>
  /** Called before each sweep that may delete something. Its failure does not stop the sweep. */
  readonly prepare: () => Promise<void>
}

/**
 * Deletes what is older than its retention time, once an hour, in the process that comes first.
 *
 *   IDLE ── an hour is over ──▶ CHECKING ── no other process sweeps ──▶ SWEEPING ──▶ IDLE
 *                                  └── too early after a copy or a long pause ──▶ IDLE
 *
 * - Nothing is lost with the process: its progress is in the database.
 * - A sweep that fails is tried again an hour later.
 */
export class RetentionJob {
  readonly #parts: RetentionJobParts
  #isRunning = false
  #cancel: (() => void) | null = null
  #giveUp: (() => void) | null = null
  #current: Promise<void> = Promise.resolve()
  #saidWaiting = false

  constructor(parts: RetentionJobParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isRunning = true
    this.#checkAfter(FIRST_AFTER_MS)
  }

  /** Resolves when no sweep is running. Harmless twice, and before the start. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancel?.()
    this.#giveUp?.()
    await this.#current
  }

  #checkAfter(delayMs: number): void {
    if (!this.#isRunning) return
    const { clock } = this.#parts
    // Jittered, so that workers which started together do not all check at once.
    this.#cancel = clock.after(delayMs * (0.75 + clock.random() / 2), () => {
      this.#current = this.#check().finally(() => this.#checkAfter(SWEEP_EVERY_MS))
    })
  }

  async #check(): Promise<void> {
    const { journal } = this.#parts
    try {
      if (!(await this.#mayBegin())) return
      await this.#parts.prepare().catch(() => {})
      const swept = await this.#sweep()
      if (swept)
        journal.record({
          event: 'retention.swept',
          endedAt: swept.endedAt,
          tookMs: swept.tookMs,
          removed: swept.removed,
        })
    } catch (error) {
      if (error instanceof StorageUnavailable) journal.record({ event: 'storage.unavailable', error })
      else journal.record({ event: 'fault', where: 'retention', error })
    }
  }

  async #mayBegin(): Promise<boolean> {
    const { storage, clock, journal } = this.#parts
    const now = clock.now()
    const state = await storage.read(now)
    let { beginsAt, waitsFor } = state
    const afterPause = state.last !== null && now - Math.max(state.last.endedAt, beginsAt) > LONG_PAUSE_MS
    // A later time was set by a clock ahead of ours, and nothing would be deleted until then.
    if (afterPause || beginsAt > now + NOTIFIED_BEFORE_MS) {
      beginsAt = now + NOTIFIED_BEFORE_MS
      waitsFor = afterPause ? 'pause' : waitsFor
      this.#saidWaiting = false
      await storage.postpone(beginsAt, waitsFor)
    }
    if (now >= beginsAt) return true
    if (!this.#saidWaiting) journal.record({ event: 'retention.waiting', why: waitsFor ?? 'pause', until: beginsAt })
    this.#saidWaiting = true
    return false
  }

  #sweep(): Promise<Swept | null> {
    const { storage, times, worker, clock, onDeliveriesGone } = this.#parts
    return runSweep({
      storage,
      times,
      worker,
      now: () => clock.now(),
      rest: (tookMs) => this.#rest(tookMs),
      onDeliveriesGone,
    })
  }

  #rest(tookMs: number): Promise<boolean> {
    if (!this.#isRunning) return Promise.resolve(false)
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(Math.max(LEAST_REST_MS, tookMs * REST_TIMES), () =>
        resolve(this.#isRunning),
      )
      this.#giveUp = () => {
        cancel()
        resolve(false)
      }
    })
  }
}
