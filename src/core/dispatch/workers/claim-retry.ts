import type { ConnectionId } from '../../ids.ts'
import type { Clock } from '../../ports/clock.ts'

// Short enough to add no noticeable latency where one claim failed by chance.
const ASKED_EVERY_MS = 50
// After repeated failures a lane is claimed in every second round, then every fourth, at last every eighth: a claim of a
// thousand lanes takes the server two milliseconds. Rounds are counted for all lanes together, so rare ones share a query.
const LONGEST_PAUSE_ROUNDS = 8
// Only limits memory: when a paused lane is resumed, a notification arrives.
const FORGOTTEN_AFTER_ROUNDS = 100

interface MissedClaim {
  /** A power of two. */
  pauseRounds: number
  isWanted: boolean
  unwantedRounds: number
}

/**
 * Lanes that could not be claimed, because they are paused or held by another worker. Each message accepted for one would
 * cause another claim, hundreds a second, so they are claimed together in rounds.
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

  /** True when the lane is in this queue: then the next round claims it. */
  want(id: ConnectionId): boolean {
    const lane = this.#lanes.get(id)
    if (!lane) return false
    lane.isWanted = true
    lane.unwantedRounds = 0
    return true
  }

  /** The lane was claimed, or has changed so that it may be free now. */
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
