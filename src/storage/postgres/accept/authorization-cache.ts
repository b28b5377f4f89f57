import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'

// Each takes some 200 bytes. Past that all are forgotten, and judged once more when they are met again.
const MOST_KNOWN = 50_000
// A second belt, for changes by hand of which the database tells nobody, such as a table that is emptied by `truncate`.
const KNOWN_FOR_MS = 5_000

/** What a batch is judged by, each once: names that mean the same in all accounts. */
export interface Asked {
  readonly tokens: readonly string[]
  /** A sender, and what type of message it is to carry. */
  readonly targets: readonly string[]
}

/** Nothing speaks against any of what was asked, if `rights` still has this mark and it is before `until`. */
export interface Known {
  readonly mark: string
  readonly until: Instant
  /** Of each target. */
  readonly connections: readonly ConnectionId[]
}

/**
 * What the database has judged already, so that it need not look it up again for each batch. Never believed by itself: the
 * database compares the mark of `rights`, which whoever changes anything of it changes in the same commit (G7).
 *
 * Only that nothing speaks against it is known of anything. Nor is anything of tokens that are bound to connections: what
 * speaks against those depends on both.
 */
export class AuthorizationCache {
  readonly #clock: Clock
  readonly #most: number
  #mark: string | null = null
  #since = 0
  readonly #ends = new Map<string, Instant>()
  readonly #connections = new Map<string, ConnectionId>()

  constructor(clock: Clock, most = MOST_KNOWN) {
    this.#clock = clock
    this.#most = most
  }

  /** Null when anything of it must be looked up. */
  find({ tokens, targets }: Asked): Known | null {
    if (this.#mark === null || this.#isOld()) return null
    let until = Number.POSITIVE_INFINITY
    for (const token of tokens) {
      const end = this.#ends.get(token)
      if (end === undefined) return null
      until = Math.min(until, end)
    }
    const connections: ConnectionId[] = []
    for (const target of targets) {
      const connection = this.#connections.get(target)
      if (connection === undefined) return null
      connections.push(connection)
    }
    return { mark: this.#mark, until, connections }
  }

  /** By which mark the database judged what is noted next. */
  begin(mark: string): void {
    const isFull = this.#ends.size + this.#connections.size > this.#most
    if (mark === this.#mark && !isFull && !this.#isOld()) return
    this.#ends.clear()
    this.#connections.clear()
    this.#mark = mark
    this.#since = this.#clock.monotonic()
  }

  noteToken(token: string, end: Instant): void {
    this.#ends.set(token, end)
  }

  noteTarget(target: string, connection: ConnectionId): void {
    if (this.#connections.get(target) === connection) return
    // A copy of its own: a piece of the database's answer would keep all of that in memory.
    this.#connections.set(target, Buffer.from(connection).toString() as ConnectionId)
  }

  #isOld(): boolean {
    return this.#clock.monotonic() - this.#since >= KNOWN_FOR_MS
  }
}
