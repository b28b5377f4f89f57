import type { Clock } from '../../src/core/ports/clock.ts'
import type { Random } from './random.ts'
import type { Schedule } from './schedule.ts'

/**
 * The machine that one worker runs on: its clocks, and whether it runs at all.
 *
 *   RUNNING ── pause ──▶ PAUSED ── time is over ──▶ RUNNING
 *      └──────── crash ─────┴──────▶ DEAD
 *
 * - Everything that reaches the worker's code from outside (timers, replies) comes through `deliver`, so a pause can begin and
 * end at any await.
 * - What the worker has already sent continues, whatever happens to the worker.
 */
export class SimulatedMachine {
  readonly name: string
  readonly clock: Clock
  readonly #schedule: Schedule
  #state: 'running' | 'paused' | 'dead' = 'running'
  #held: (() => void)[] = []
  #pausedAt = 0
  #clockIsPaused = false
  /** How far the monotonic clock is behind, because it stood still. */
  #lostMs = 0
  /** How far the worker's time of day is behind, because it advanced only while the machine ran. */
  #unlearnedMs = 0
  /** How far the machine's own wall clock is off. */
  wallOffsetMs = 0
  /** The error of the time of day that the worker uses. */
  nowOffsetMs = 0
  /** How often the machine was paused. */
  pauses = 0

  constructor(name: string, schedule: Schedule, random: Random) {
    this.name = name
    this.#schedule = schedule
    this.clock = {
      now: () => Math.floor(schedule.now - this.#unlearnedMs) + this.nowOffsetMs,
      wall: () => Math.floor(schedule.now) + this.wallOffsetMs,
      monotonic: () => schedule.now - this.#lostMs,
      after: (delayMs, call) => this.#after(delayMs, call),
      random: () => random.next(),
    }
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  get isPaused(): boolean {
    return this.#state === 'paused'
  }

  /** Delivers something to the worker's code: now, after a pause, or never if the worker is dead. */
  deliver(call: () => void): void {
    if (this.#state === 'running') call()
    else if (this.#state === 'paused') this.#held.push(call)
  }

  /** `suspended`: the monotonic clock stands still too, as when a laptop is closed. */
  pause(durationMs: number, suspended: boolean): void {
    if (this.#state !== 'running') return
    this.#state = 'paused'
    this.#pausedAt = this.#schedule.now
    this.#clockIsPaused = suspended
    this.pauses += 1
    const pause = this.pauses
    this.#schedule.after(durationMs, () => {
      if (this.pauses === pause) this.wake()
    })
  }

  wake(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    if (this.#clockIsPaused) {
      const lostMs = this.#schedule.now - this.#pausedAt
      this.#lostMs += lostMs
      this.#unlearnedMs += lostMs
    }
    const held = this.#held
    this.#held = []
    // One by one, so that what follows from the first is finished before the second.
    for (const call of held) this.#schedule.after(0, () => this.deliver(call))
  }

  /** The worker has learned the database's time. */
  learnTime(): void {
    this.#unlearnedMs = 0
  }

  crash(): void {
    this.#state = 'dead'
    this.#held = []
  }

  #after(delayMs: number, call: () => void): () => void {
    const endsMonotonic = this.clock.monotonic() + Math.max(0, delayMs)
    let cancelled = false
    const fire = () => {
      if (cancelled) return
      const leftMs = endsMonotonic - this.clock.monotonic()
      if (leftMs > 0) this.#schedule.after(leftMs, () => this.deliver(fire))
      else call()
    }
    this.#schedule.after(Math.max(0, delayMs), () => this.deliver(fire))
    return () => {
      cancelled = true
    }
  }
}
