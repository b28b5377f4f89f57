import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'

// Each takes some 200 bytes. Above that the cache is emptied, and filled again from the next batches.
const MOST_KNOWN = 50_000
// A second safeguard, for changes by hand that fire no trigger, such as `truncate`.
const KNOWN_FOR_MS = 5_000

/** The tokens and targets of a batch, each once. Their names contain the account. */
interface Asked {
  readonly tokens: readonly string[]
  /** A sender, and the type of the message that it is to send. */
  readonly targets: readonly string[]
}

/** These are all authorized, if `rights` still has this version and the time is before `until`. */
export interface Known {
  readonly version: string
  readonly until: Instant
  /** The connection of each target. */
  readonly connections: readonly ConnectionId[]
}

/**
 * What the database has authorized already, so that it need not query that again for each batch; that saves a sixth of accepting.
 * Never trusted by itself: every commit that changes a right also changes the version in `rights`, and the database compares it (G7).
 *
 * Only authorized tokens and targets are cached. Tokens that are bound to connections are not cached, because the target decides as
 * well.
 */
export class AuthorizationCache {
  readonly #clock: Clock
  readonly #most: number
  #version: string | null = null
  #since = 0
  readonly #ends = new Map<string, Instant>()
  readonly #connections = new Map<string, ConnectionId>()

  constructor(clock: Clock, most = MOST_KNOWN) {
    this.#clock = clock
    this.#most = most
  }

  /** Null when anything of it must be looked up. */
  find({ tokens, targets }: Asked): Known | null {
    if (this.#version === null || this.#isOld()) return null
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
    return { version: this.#version, until, connections }
  }

  /** The version of `rights` by which the database authorized what is cached next. */
  begin(version: string): void {
    const isFull = this.#ends.size + this.#connections.size > this.#most
    if (version === this.#version && !isFull && !this.#isOld()) return
    this.#ends.clear()
    this.#connections.clear()
    this.#version = version
    this.#since = this.#clock.monotonic()
  }

  noteToken(token: string, end: Instant): void {
    this.#ends.set(token, end)
  }

  noteTarget(target: string, connection: ConnectionId): void {
    if (this.#connections.get(target) === connection) return
    // A copy, because a slice would keep the whole answer of the database in memory.
    this.#connections.set(target, Buffer.from(connection).toString() as ConnectionId)
  }

  #isOld(): boolean {
    return this.#clock.monotonic() - this.#since >= KNOWN_FOR_MS
  }
}
