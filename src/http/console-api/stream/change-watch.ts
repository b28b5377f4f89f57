import type { AccountId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Changes } from '../../../core/ports/console/changes.ts'

// What a person takes for "at once", and no more often than a page can be drawn anew without flicker.
const LOOK_EVERY_MS = 1000
// For what is no part of an account's own mark, such as a setting. Every worker's heartbeat is a commit, so this goes by
// about as often anyway: how busy other accounts are cannot be told from it.
const NOTIFY_OF_PEERS_EVERY_MS = 5000

interface ChangeWatchParts {
  readonly changes: Changes
  readonly clock: Clock
  /** Told once for each row of looks that fail. */
  readonly onError: (error: unknown) => void
}

interface Watched {
  readonly listeners: Set<() => void>
  mark: string | null
  toldAt: number
  /** Something was committed of which its listeners do not know yet. */
  isDue: boolean
}

/** Looks, for all open pages together, whether there is anything new. Looks at nothing while nobody listens. */
export class ChangeWatch {
  readonly #parts: ChangeWatchParts
  readonly #accounts = new Map<AccountId, Watched>()
  #lastMark: string | null = null
  #isLooking = false
  #isInTrouble = false

  constructor(parts: ChangeWatchParts) {
    this.#parts = parts
  }

  /** `onChange` is called at most once a second. Returns how to stop listening, which is harmless twice. */
  listen(accountId: AccountId, onChange: () => void): () => void {
    const toldAt = this.#parts.clock.monotonic()
    const watched = this.#accounts.get(accountId) ?? { listeners: new Set(), mark: null, toldAt, isDue: false }
    this.#accounts.set(accountId, watched)
    watched.listeners.add(onChange)
    // Between the loading of a page and our first look something may have happened.
    watched.isDue = true
    if (!this.#isLooking) {
      this.#isLooking = true
      void this.#look()
    }
    return () => {
      watched.listeners.delete(onChange)
      if (watched.listeners.size === 0 && this.#accounts.get(accountId) === watched) this.#accounts.delete(accountId)
    }
  }

  async #look(): Promise<void> {
    try {
      await this.#lookAtAll()
      this.#isInTrouble = false
    } catch (error) {
      if (!this.#isInTrouble) this.#parts.onError(error)
      this.#isInTrouble = true
    }
    if (this.#accounts.size > 0) this.#parts.clock.after(LOOK_EVERY_MS, () => void this.#look())
    else this.#rest()
  }

  #rest(): void {
    this.#isLooking = false
    // What happens while nobody looks is no news to the next one, who has just loaded everything.
    this.#lastMark = null
  }

  async #lookAtAll(): Promise<void> {
    const { changes } = this.#parts
    const mark = await changes.look()
    const isChanged = mark !== this.#lastMark
    for (const [accountId, watched] of this.#accounts) {
      if (isChanged || watched.mark === null) await this.#lookAt(accountId, watched)
      else if (watched.isDue) this.#tellIfTimely(watched)
    }
    // Only now: if one of them failed, all are looked at again.
    this.#lastMark = mark
  }

  async #lookAt(accountId: AccountId, watched: Watched): Promise<void> {
    const before = watched.mark
    watched.mark = await this.#parts.changes.lookAt(accountId)
    if (before === null) return
    watched.isDue = true
    if (watched.mark === before) this.#tellIfTimely(watched)
    else this.#tell(watched)
  }

  #tellIfTimely(watched: Watched): void {
    if (this.#parts.clock.monotonic() - watched.toldAt >= NOTIFY_OF_PEERS_EVERY_MS) this.#tell(watched)
  }

  #tell(watched: Watched): void {
    watched.isDue = false
    watched.toldAt = this.#parts.clock.monotonic()
    for (const tell of watched.listeners) tell()
  }
}
