import { readFileSync } from 'node:fs'

/** Milliseconds since a fixed time in which tasks of this machine waited for a processor or for the disk. */
type ReadStalledMs = () => number

// A machine that is always busy still reaches the deadline: after ten times the limit.
const STALLED_COUNTS = 0.1

/**
 * A limit for what may never happen, counted in time in which the machine could make progress. Seconds in which something
 * waited for a processor or the disk count for a tenth, so a busy machine makes a test slower and not red.
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

  /** To be asked again and again: what happens between two calls counts as a whole. */
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

/** By the pressure that Linux reports. Where there is none, every machine is taken for a busy one. */
function stalledMs(): number {
  try {
    return readPressure('cpu') + readPressure('io')
  } catch {
    return performance.now()
  }
}

/** The total of `some`, in microseconds: https://docs.kernel.org/accounting/psi.html */
function readPressure(of: 'cpu' | 'io'): number {
  const [, total = '0'] = /^some .* total=(\d+)$/m.exec(readFileSync(`/proc/pressure/${of}`, 'utf8')) ?? []
  return Number(total) / 1_000
}
