import type { Instant } from '../ids.ts'
import type { Removed, RemovedKind, Retention, RetentionTask } from '../ports/retention.ts'
import { planSweep, type SweepTimes } from './plan-sweep.ts'

// Longer than a step with its pause ever takes. A process that dies during a sweep blocks others for no longer.
export const LEASE_MS = 120_000

interface SweepParts {
  readonly storage: Retention
  readonly times: SweepTimes
  readonly worker: string
  readonly now: () => Instant
  /** Pauses after a step that took `tookMs`, in proportion to it. False: stop the sweep. */
  readonly rest: (tookMs: number) => Promise<boolean>
  /** What went from the sandbox's inbox, by message. */
  readonly onDeliveriesGone?: (messageIds: readonly string[]) => Promise<void>
}

export interface Swept {
  readonly begunAt: Instant
  readonly endedAt: Instant
  /** Without the pauses. */
  readonly tookMs: number
  readonly removed: Removed
}

/**
 * Deletes all rows whose time is over, in small steps. Null: another process sweeps, or this one was stopped. Deleted rows stay
 * deleted, and the next sweep goes on from there.
 */
export async function runSweep(parts: SweepParts): Promise<Swept | null> {
  const { storage, worker, now } = parts
  const begunAt = now()
  if (!(await storage.acquireLease(worker, begunAt, LEASE_MS))) return null
  try {
    const sweep = new Sweep(parts, begunAt)
    for (const task of planSweep(parts.times, await storage.readOwnTimes(), begunAt))
      if (!(await sweep.work(task))) return null
    const swept = { begunAt, endedAt: now(), tookMs: Math.round(sweep.tookMs), removed: sweep.removed }
    return (await storage.finish(worker, swept)) ? swept : null
  } finally {
    await storage.releaseLease(worker)
  }
}

class Sweep {
  readonly #parts: SweepParts
  readonly #begunAt: Instant
  readonly #size: BatchSize
  readonly #removed: Partial<Record<RemovedKind, number>> = {}
  tookMs = 0

  constructor(parts: SweepParts, begunAt: Instant) {
    this.#parts = parts
    this.#begunAt = begunAt
    this.#size = new BatchSize(parts.storage)
  }

  get removed(): Removed {
    return this.#removed
  }

  /** False: the sweep was stopped. */
  async work(task: RetentionTask): Promise<boolean> {
    const { storage, worker, now, rest, onDeliveriesGone } = this.#parts
    for (let cursor: string | null = null; ; ) {
      const step = await storage.step(task, { now: this.#begunAt, limit: this.#size.rows, cursor })
      this.#size.learn(step.tookMs)
      this.tookMs += step.tookMs
      for (const [kind, count] of Object.entries(step.removed))
        this.#removed[kind as RemovedKind] = (this.#removed[kind as RemovedKind] ?? 0) + count
      if (step.deliveries?.length) await onDeliveriesGone?.(step.deliveries)
      if (!(await rest(step.tookMs))) return false
      // Also after the last step of a task, because there may be thousands of tasks with one step each.
      if (!(await storage.acquireLease(worker, now(), LEASE_MS))) return false
      if (step.isThrough) return true
      cursor = step.cursor
    }
  }
}

const LEAST_ROWS = 20
// Half of it at once when it took too long, a quarter more when it was quick: as fast as the disk, and never for long.
const SMALLER = 0.5
const LARGER = 1.25

/** How many rows the next step should read, so that it takes about its aim. */
export class BatchSize {
  readonly #aimMs: number
  readonly #mostRows: number
  #rows: number

  constructor({ aimMs, mostRows }: { readonly aimMs: number; readonly mostRows: number }) {
    this.#aimMs = aimMs
    this.#mostRows = mostRows
    this.#rows = Math.min(2 * LEAST_ROWS, mostRows)
  }

  get rows(): number {
    return Math.round(this.#rows)
  }

  learn(tookMs: number): void {
    const wanted = this.#rows * (tookMs > this.#aimMs ? SMALLER : tookMs < this.#aimMs / 2 ? LARGER : 1)
    this.#rows = Math.min(this.#mostRows, Math.max(LEAST_ROWS, wanted))
  }
}
