import { readFileSync } from 'node:fs'

/** Milliseconds since a fixed time in which tasks of this machine waited for a processor or for the disk. */
type ReadStalledMs = () => number

// Even on a machine that is always busy the deadline passes, after ten times the limit.
const STALLED_COUNTS = 0.1

/**
 * A deadline for what must never happen, measured in time in which the machine could make progress. Time in which tasks waited
 * for a processor or the disk counts for a tenth, so a busy machine makes a test slower instead of red.
 */
export class LoadAwareDeadline {
  readonly #limitMs: number
  readonly #readStalledMs: ReadStalledMs
  readonly #now: () => number
  #usedMs = 0
  #lastAt: number
  #lastStalledMs: number

  constructor(limitMs: number, readStalledMs = stalledMs, now = () => performance.now()) {
    this.#limitMs = limitMs
    this.#readStalledMs = readStalledMs
    this.#now = now
    this.#lastAt = now()
    this.#lastStalledMs = readStalledMs()
  }

  /** Call this repeatedly: the stalled time between two calls is read as a whole. */
  isOver(): boolean {
    const at = this.#now()
    const stalledMs = this.#readStalledMs()
    const passedMs = at - this.#lastAt
    const stalled = Math.min(passedMs, stalledMs - this.#lastStalledMs)
    this.#usedMs += passedMs - (1 - STALLED_COUNTS) * stalled
    this.#lastAt = at
    this.#lastStalledMs = stalledMs
    return this.#usedMs > this.#limitMs
  }
}

/** Reads the pressure that Linux reports. Without it every machine counts as busy. */
function stalledMs(): number {
  try {
    return readPressure('cpu') + readPressure('io')
  } catch {
    return performance.now()
  }
}

/** The field `total` of `some`, in microseconds: https://docs.kernel.org/accounting/psi.html */
function readPressure(of: 'cpu' | 'io'): number {
  const [, total = '0'] = /^some .* total=(\d+)$/m.exec(readFileSync(`/proc/pressure/${of}`, 'utf8')) ?? []
  return Number(total) / 1_000
}
