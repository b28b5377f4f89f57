import type { Clock } from '../../../core/ports/clock.ts'
import type { Token } from '../../../core/token/token.ts'
import { toToken } from '../../queries/tokens/token-rows.ts'
import { Batcher } from '../connection/batcher.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

const USED_FOR_MS = 1_000
// A token in use is reloaded before it expires here, so that no request waits for it.
const RELOADED_AFTER_MS = 500
// More than one installation uses within a second; each takes about 500 bytes.
const MOST_REMEMBERED = 10_000

const FIND = `select id, account_id, events, expires_at, deleted_at, connection_ids, source_ranges, sha256
  from token where sha256 = any ($1::bytea[])`

interface Entry {
  readonly token: Token
  /** Monotonic, from before the database was asked. */
  readonly since: number
}

/**
 * Remembers tokens for a second. Only a hint, because accepting checks again (G7). It returns nothing older while the database
 * is unavailable: nothing could be accepted anyway.
 */
export class TokenCache {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()
  readonly #asked = new Map<string, Promise<Token | null>>()
  readonly #batches: Batcher<Buffer, Token | null>

  constructor(clock: Clock, pgConnection: PgConnection) {
    this.#clock = clock
    this.#batches = new Batcher({
      concurrency: 1,
      mostPerBatch: 500,
      run: (hashes) => findTokens(pgConnection, hashes),
    })
  }

  find(sha256: Buffer): Token | Promise<Token | null> {
    const name = sha256.toString('latin1')
    const entry = this.#entries.get(name)
    const age = entry ? this.#clock.monotonic() - entry.since : Number.POSITIVE_INFINITY
    if (!entry || age >= USED_FOR_MS) return this.#load(name, sha256)
    if (age >= RELOADED_AFTER_MS) this.#load(name, sha256).catch(() => {})
    return entry.token
  }

  /** A token was changed. */
  forgetAll(): void {
    this.#entries.clear()
    // An answer that is on its way may be from before the change.
    this.#asked.clear()
  }

  #load(name: string, sha256: Buffer): Promise<Token | null> {
    const asked = this.#asked.get(name)
    if (asked) return asked
    const since = this.#clock.monotonic()
    const loading = this.#batches.submit(sha256).then(
      (token) => {
        if (this.#end(name, loading)) this.#remember(name, token, since)
        return token
      },
      (error: unknown) => {
        this.#end(name, loading)
        throw error
      },
    )
    this.#asked.set(name, loading)
    return loading
  }

  /** False when all was forgotten meanwhile. */
  #end(name: string, loading: Promise<Token | null>): boolean {
    return this.#asked.get(name) === loading && this.#asked.delete(name)
  }

  /** Unknown tokens are not remembered: a guesser could fill the memory with them. */
  #remember(name: string, token: Token | null, since: number): void {
    this.#entries.delete(name)
    if (!token) return
    this.#entries.set(name, { token, since })
    if (this.#entries.size <= MOST_REMEMBERED) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      break
    }
  }
}

async function findTokens(pgConnection: PgConnection, hashes: readonly Buffer[]): Promise<(Token | null)[]> {
  const rows = await pgConnection.query(FIND, [hashes])
  const found = new Map(rows.map((row) => [(row['sha256'] as Buffer).toString('latin1'), toToken(row)]))
  return hashes.map((sha256) => found.get(sha256.toString('latin1')) ?? null)
}
