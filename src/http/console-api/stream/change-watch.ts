import type { AccountId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Changes } from '../../../core/ports/console/changes.ts'

// Seems immediate to a person, and a page can be redrawn this often without flicker.
const POLL_EVERY_MS = 1000
// For changes that are not in the account's own mark, such as a setting. Every worker's heartbeat is a commit, so these
// events come about this often anyway and do not reveal how busy other accounts are.
const REPORT_OTHER_CHANGES_EVERY_MS = 5000

interface ChangeWatchParts {
  readonly changes: Changes
  readonly clock: Clock
  /** Called once for each series of failed polls. */
  readonly onError: (error: unknown) => void
}

interface Watched {
  readonly listeners: Set<() => void>
  mark: string | null
  notifiedAt: number
  /** Something was committed since the last notification. */
  isDue: boolean
}

/** Polls for changes for all open pages together. Does not poll while there are no listeners. */
export class ChangeWatch {
  readonly #parts: ChangeWatchParts
  readonly #accounts = new Map<AccountId, Watched>()
  #lastMark: string | null = null
  #isPolling = false
  #isFailing = false

  constructor(parts: ChangeWatchParts) {
    this.#parts = parts
  }

  /** `onChange` is called at most once a second. Returns a function that stops listening; calling it twice is harmless. */
  listen(accountId: AccountId, onChange: () => void): () => void {
    const notifiedAt = this.#parts.clock.monotonic()
    const watched = this.#accounts.get(accountId) ?? { listeners: new Set(), mark: null, notifiedAt, isDue: false }
    this.#accounts.set(accountId, watched)
    watched.listeners.add(onChange)
    // Something may have changed between the loading of the page and the first poll.
    watched.isDue = true
    if (!this.#isPolling) {
      this.#isPolling = true
      void this.#poll()
    }
    return () => {
      watched.listeners.delete(onChange)
      if (watched.listeners.size === 0 && this.#accounts.get(accountId) === watched) this.#accounts.delete(accountId)
    }
  }

  async #poll(): Promise<void> {
    try {
      await this.#pollAll()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#parts.onError(error)
      this.#isFailing = true
    }
    if (this.#accounts.size > 0) this.#parts.clock.after(POLL_EVERY_MS, () => void this.#poll())
    else this.#stop()
  }

  #stop(): void {
    this.#isPolling = false
    // The next listener has just loaded everything, so changes until then are not news.
    this.#lastMark = null
  }

  async #pollAll(): Promise<void> {
    const { changes } = this.#parts
    const mark = await changes.poll()
    const isChanged = mark !== this.#lastMark
    for (const [accountId, watched] of this.#accounts) {
      if (isChanged || watched.mark === null) await this.#pollAccount(accountId, watched)
      else if (watched.isDue) this.#notifyIfTimely(watched)
    }
    // Only now: if one account failed, all are polled again.
    this.#lastMark = mark
  }

  async #pollAccount(accountId: AccountId, watched: Watched): Promise<void> {
    const before = watched.mark
    watched.mark = await this.#parts.changes.pollAccount(accountId)
    if (before === null) return
    watched.isDue = true
    if (watched.mark === before) this.#notifyIfTimely(watched)
    else this.#notify(watched)
  }

  #notifyIfTimely(watched: Watched): void {
    if (this.#parts.clock.monotonic() - watched.notifiedAt >= REPORT_OTHER_CHANGES_EVERY_MS) this.#notify(watched)
  }

  #notify(watched: Watched): void {
    watched.isDue = false
    watched.notifiedAt = this.#parts.clock.monotonic()
    for (const notify of watched.listeners) notify()
  }
}
