import type { AccountId } from '../../../core/ids.ts'
import type { BlockedRecipients } from '../../../core/ports/blocked-recipients.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import { type HashRecipient, hashedEntry } from '../../../core/ports/recipients.ts'
import { Batcher } from '../connection/batcher.ts'
import { textArray } from '../connection/binary-arrays.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

// What is promised: no attempt begins later than this after the block was committed (G13).
const KNOWN_FOR_MS = 1_000
/** Polled more often than that, so that no attempt waits for it. */
export const POLL_BLOCKED_EVERY_MS = 400
// After the last query. A later one waits for one poll.
const POLLED_FOR_MS = 10_000
const AT_ONCE = 500

const LISTS = 'select account_id, hash_key from block_list where entries > 0'
// A subselect for each, so that the planner can only use the key.
const FIND = `select (select true from blocked_recipient b where b.account_id = s.account_id and b.recipient = s.recipient) is true
      or (select true from blocked_recipient b where b.account_id = s.account_id and b.recipient = s.hashed) is true as is_blocked,
    (select l.hash_key from block_list l where l.account_id = s.account_id) as hash_key
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality s (account_id, recipient, hashed, i) order by s.i`

interface Sought {
  readonly accountId: AccountId
  readonly recipient: string
  /** As it stands in the list if it was erased; null where no recipient was. */
  readonly hashed: string | null
}

interface Found {
  /** Monotonic, from before the database was asked. */
  readonly askedAt: number
  readonly is_blocked: boolean
  /** Sealed; null where no recipient was erased. */
  readonly hash_key: string | null
}

interface Parts {
  readonly clock: Clock
  readonly pgConnection: PgConnection
  readonly hash: HashRecipient
}

/**
 * The recipients that must get no message. It polls which accounts block any recipient, and waits for a new poll if the last one is
 * more than a second old. In those accounts each recipient is looked up by its key, all of one turn in one statement. An answer that
 * took a second is not used either.
 */
export class PostgresBlockedRecipients implements BlockedRecipients {
  readonly #parts: Parts
  readonly #lookUps: Batcher<Sought, Found>
  /** The accounts that block any, and the last known key of each for hashes. */
  #keys = new Map<AccountId, string | null>()
  /** Monotonic, from before the database was asked. */
  #polledAt = Number.NEGATIVE_INFINITY
  /** Monotonic. From the start on, so that the first query does not wait. */
  #askedAt: number
  #polling: Promise<void> | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    this.#askedAt = parts.clock.monotonic()
    this.#lookUps = new Batcher({ concurrency: 1, mostPerBatch: AT_ONCE, run: (sought) => find(parts, sought) })
  }

  isBlocked(accountId: AccountId, recipient: string): boolean | Promise<boolean> {
    this.#askedAt = this.#parts.clock.monotonic()
    return this.#isFresh(this.#polledAt) && !this.#keys.has(accountId) ? false : this.#isListed(accountId, recipient)
  }

  /** To be called a few times a second. Leaves the database alone while nothing is sent. */
  async pollIfUsed(): Promise<void> {
    if (this.#parts.clock.monotonic() - this.#askedAt < POLLED_FOR_MS) await this.poll()
  }

  /** To be called when a list has changed. */
  async poll(): Promise<void> {
    // A poll that is on its way may have begun before the change.
    await this.#polling?.catch(() => {})
    await this.#sharePoll()
  }

  /** The lists must be polled before they are used again. */
  forget(): void {
    this.#polledAt = Number.NEGATIVE_INFINITY
  }

  #isFresh(askedAt: number): boolean {
    return this.#parts.clock.monotonic() - askedAt < KNOWN_FOR_MS
  }

  async #isListed(accountId: AccountId, recipient: string): Promise<boolean> {
    while (!this.#isFresh(this.#polledAt)) await this.#sharePoll()
    for (let key = this.#keys.get(accountId); key !== undefined; ) {
      const hashed = key === null ? null : hashedEntry(this.#parts.hash(accountId, key, recipient))
      const found = await this.#lookUps.submit({ accountId, recipient, hashed })
      if (found.is_blocked) return true
      // Without the key of now, the hash of a recipient erased meanwhile cannot be recognized. A late answer is no longer true.
      if (found.hash_key === key && this.#isFresh(found.askedAt)) return false
      key = found.hash_key
    }
    return false
  }

  #sharePoll(): Promise<void> {
    this.#polling ??= this.#pollNow().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  async #pollNow(): Promise<void> {
    const since = this.#parts.clock.monotonic()
    const rows = await this.#parts.pgConnection.query(LISTS)
    this.#keys = new Map(rows.map((row) => [row['account_id'] as AccountId, row['hash_key'] as string | null]))
    this.#polledAt = since
  }
}

async function find({ clock, pgConnection }: Parts, sought: readonly Sought[]): Promise<readonly Found[]> {
  const askedAt = clock.monotonic()
  const rows = await pgConnection.query(FIND, [
    textArray(sought.map(({ accountId }) => accountId)),
    textArray(sought.map(({ recipient }) => recipient)),
    textArray(sought.map(({ hashed }) => hashed)),
  ])
  return rows.map((row) => ({ ...(row as unknown as Omit<Found, 'askedAt'>), askedAt }))
}
