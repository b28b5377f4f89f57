import type { ConnectionId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'

// So short that nobody notices it where a lane was missed by chance.
const ASKED_EVERY_MS = 50
// One that is missed again and again is asked for in each second round, then in each fourth, at last in each eighth:
// asking for a thousand takes the server two milliseconds. All that are asked for seldom have their turn together.
const LONGEST_PAUSE_ROUNDS = 8
// A lane that is paused for long is told of when it goes on, so this is only for the memory that it takes.
const FORGOTTEN_AFTER_ROUNDS = 100

interface MissedClaim {
  /** A power of two. */
  pauseRounds: number
  isWanted: boolean
  unwantedRounds: number
}

/**
 * Lanes that were asked for and not to be had: paused, or held by another worker. Each message that is accepted for one
 * would have storage asked again, hundreds of times a second. So from then on all of them are asked for together, now
 * and then.
 */
export class ClaimRetryQueue {
  readonly #clock: Clock
  readonly #ask: (id: ConnectionId) => void
  readonly #lanes = new Map<ConnectionId, MissedClaim>()
  #rounds = 0
  #cancel: (() => void) | null = null

  constructor(clock: Clock, ask: (id: ConnectionId) => void) {
    this.#clock = clock
    this.#ask = ask
  }

  add(ids: readonly ConnectionId[]): void {
    for (const id of ids) {
      const lane = this.#lanes.get(id)
      if (lane) lane.pauseRounds = Math.min(lane.pauseRounds * 2, LONGEST_PAUSE_ROUNDS)
      else this.#lanes.set(id, { pauseRounds: 1, isWanted: false, unwantedRounds: 0 })
    }
    this.#plan()
  }

  /** True when it is one of these: then it will be asked for with the others. */
  want(id: ConnectionId): boolean {
    const lane = this.#lanes.get(id)
    if (!lane) return false
    lane.isWanted = true
    lane.unwantedRounds = 0
    return true
  }

  /** It was taken, or has changed, so that it may be to be had now. */
  forget(id: ConnectionId): void {
    this.#lanes.delete(id)
  }

  /** Harmless twice. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#lanes.clear()
  }

  #plan(): void {
    if (this.#lanes.size > 0) this.#cancel ??= this.#clock.after(ASKED_EVERY_MS, () => this.#askForWanted())
  }

  #askForWanted(): void {
    this.#cancel = null
    this.#rounds += 1
    for (const [id, lane] of this.#lanes) {
      if (!lane.isWanted) {
        if (lane.unwantedRounds === FORGOTTEN_AFTER_ROUNDS) this.#lanes.delete(id)
        else lane.unwantedRounds += 1
      } else if (this.#rounds % lane.pauseRounds === 0) {
        lane.isWanted = false
        this.#ask(id)
      }
    }
    this.#plan()
  }
}
