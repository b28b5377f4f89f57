import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { Token, TokenEvent } from '../../../core/token/token.ts'
import { Batches } from '../connection/batcher.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'

const USED_FOR_MS = 1_000
// A token in use is looked up ahead of that, so that nobody waits for it.
const LOOKED_UP_AFTER_MS = 500
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
 * Tokens that exist, remembered for a second. A hint: accepting judges again (G7). While the database is away it gives
 * out nothing older, because nothing could be accepted.
 */
export class TokenCache {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()
  readonly #asked = new Map<string, Promise<Token | null>>()
  readonly #lookUps: Batches<Buffer, Token | null>

  constructor(clock: Clock, link: PgConnection) {
    this.#clock = clock
    this.#lookUps = new Batches({ ways: 1, mostPerBatch: 500, run: (hashes) => findTokens(link, hashes) })
  }

  find(sha256: Buffer): Token | Promise<Token | null> {
    const name = sha256.toString('latin1')
    const entry = this.#entries.get(name)
    const age = entry ? this.#clock.monotonic() - entry.since : Number.POSITIVE_INFINITY
    if (!entry || age >= USED_FOR_MS) return this.#lookUp(name, sha256)
    if (age >= LOOKED_UP_AFTER_MS) this.#lookUp(name, sha256).catch(() => {})
    return entry.token
  }

  /** Somebody has changed a token. */
  forgetAll(): void {
    this.#entries.clear()
    // An answer that is on its way may be from before the change.
    this.#asked.clear()
  }

  #lookUp(name: string, sha256: Buffer): Promise<Token | null> {
    const asked = this.#asked.get(name)
    if (asked) return asked
    const since = this.#clock.monotonic()
    const lookUp = this.#lookUps.submit(sha256).then(
      (token) => {
        if (this.#end(name, lookUp)) this.#remember(name, token, since)
        return token
      },
      (error: unknown) => {
        this.#end(name, lookUp)
        throw error
      },
    )
    this.#asked.set(name, lookUp)
    return lookUp
  }

  /** False when all was forgotten meanwhile. */
  #end(name: string, lookUp: Promise<Token | null>): boolean {
    return this.#asked.get(name) === lookUp && this.#asked.delete(name)
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

async function findTokens(link: PgConnection, hashes: readonly Buffer[]): Promise<(Token | null)[]> {
  const rows = await link.ask(FIND, [hashes])
  const found = new Map(rows.map((row) => [(row['sha256'] as Buffer).toString('latin1'), toToken(row)]))
  return hashes.map((sha256) => found.get(sha256.toString('latin1')) ?? null)
}

function toToken(row: Row): Token {
  return {
    id: row['id'] as TokenId,
    accountId: row['account_id'] as AccountId,
    events: JSON.parse(row['events'] as string) as TokenEvent[],
    expiresAt: row['expires_at'] as number,
    deletedAt: row['deleted_at'] as number | null,
    connectionIds: parseList<ConnectionId>(row['connection_ids']),
    sourceRanges: parseList<string>(row['source_ranges']),
  }
}

function parseList<Item>(json: unknown): Item[] | null {
  return json === null ? null : (JSON.parse(json as string) as Item[])
}
