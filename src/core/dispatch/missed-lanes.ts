import type { ConnectionId } from '../ids.ts'
import type { Clock } from '../ports/clock.ts'

// So short that nobody notices it where a lane was missed by chance.
const ASKED_EVERY_MS = 50
// A lane that is paused for long is told of when it goes on, so this is only for the memory that it takes.
const FORGOTTEN_AFTER_ROUNDS = 100
const WANTED = -1

/**
 * Lanes that were asked for and not to be had: paused, or held by another worker. Each message that is accepted for one
 * would have storage asked again, hundreds of times a second. So from then on all of them are asked for together, now
 * and then.
 */
export class MissedLanes {
  readonly #clock: Clock
  readonly #ask: (id: ConnectionId) => void
  /** Since how many rounds nobody has wanted it; `WANTED` when somebody has since the last one. */
  readonly #lanes = new Map<ConnectionId, number>()
  #cancel: (() => void) | null = null

  constructor(clock: Clock, ask: (id: ConnectionId) => void) {
    this.#clock = clock
    this.#ask = ask
  }

  add(ids: readonly ConnectionId[]): void {
    for (const id of ids) this.#lanes.set(id, this.#lanes.get(id) ?? 0)
    this.#plan()
  }

  /** True when it is one of these: then it will be asked for with the others. */
  want(id: ConnectionId): boolean {
    if (!this.#lanes.has(id)) return false
    this.#lanes.set(id, WANTED)
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
    for (const [id, rounds] of this.#lanes) {
      if (rounds === FORGOTTEN_AFTER_ROUNDS) this.#lanes.delete(id)
      else this.#lanes.set(id, rounds + 1)
      if (rounds === WANTED) this.#ask(id)
    }
    this.#plan()
  }
}
