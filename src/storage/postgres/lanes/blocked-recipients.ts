import type { AccountId } from '../../../core/ids.ts'
import type { BlockedRecipients } from '../../../core/ports/blocked-recipients.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import { type HashRecipient, hashedEntry, isHashedEntry } from '../../../core/ports/recipients.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'

// What is promised: no attempt begins later than this after the block was committed (G13).
const KNOWN_FOR_MS = 1_000
/** Polled more often than that, so that no attempt waits for it. A poll reads one row while nothing has changed. */
export const POLL_BLOCKED_EVERY_MS = 400
// After the last query. A later one waits for one poll.
const POLLED_FOR_MS = 10_000
const ENTRIES_AT_ONCE = 10_000

// One row without a list when none has changed. The history is another one whenever the database may have lost what it once had.
const CHANGED = `select concat_ws(' ', s.id, s.timeline, r.holds) as history, l.account_id, l.version, l.removals, l.entries, l.hash_key
  from checkpoint r cross join this_server() s left join block_list l on l.version >= $1 order by l.version`
const ALL = `select recipient from blocked_recipient where account_id = $1 and recipient > $2 order by recipient limit ${ENTRIES_AT_ONCE}`
const NEWER = `select recipient from blocked_recipient where account_id = $1 and version > $2 order by version`

interface BlockList {
  readonly version: number
  readonly removals: number
  /** Sealed; null where no recipient was erased. */
  readonly hashKey: string | null
  /** Numbers, and hashes of erased numbers. */
  readonly entries: Set<string>
}

interface ReadList {
  readonly entries: Set<string>
  readonly hasHashes: boolean
}

/** A list that has changed and is not read yet. */
interface Behind {
  /** Of `block_list`, the newest that was seen. */
  row: Row
  reading: Promise<void> | null
}

/**
 * The recipients that are not to be written to, from memory: some 70 bytes for each, and nothing for accounts that block none. Lists
 * that were checked more than a second ago are not used: the query then waits for a poll.
 *
 * One poll says which lists have changed. Each of those is then read by itself, so that a long list delays only its own account (G8).
 */
export class PostgresBlockedRecipients implements BlockedRecipients {
  readonly #clock: Clock
  readonly #link: PgConnection
  readonly #hash: HashRecipient
  #lists = new Map<AccountId, BlockList>()
  #behind = new Map<AccountId, Behind>()
  /** Of all lists together: what was seen so far. */
  #version = 0
  #history: unknown = null
  /** Monotonic, from before the database was asked. */
  #polledAt = Number.NEGATIVE_INFINITY
  /** Monotonic. From the start on, so that long lists are read before the first query. */
  #askedAt: number
  #polling: Promise<void> | null = null
  #isCatchingUp = false

  constructor({
    clock,
    link,
    hash,
  }: { readonly clock: Clock; readonly link: PgConnection; readonly hash: HashRecipient }) {
    this.#clock = clock
    this.#link = link
    this.#hash = hash
    this.#askedAt = clock.monotonic()
  }

  isBlocked(accountId: AccountId, recipient: string): boolean | Promise<boolean> {
    this.#askedAt = this.#clock.monotonic()
    if (this.#isFresh() && !this.#behind.has(accountId)) return this.#contains(accountId, recipient)
    return this.#untilKnown(accountId).then(() => this.#contains(accountId, recipient))
  }

  /** To be called a few times a second. Leaves the database alone while nothing is sent. */
  async pollIfUsed(): Promise<void> {
    if (this.#clock.monotonic() - this.#askedAt < POLLED_FOR_MS) await this.poll()
  }

  /** To be called when a list has changed. */
  async poll(): Promise<void> {
    // A poll that is on its way may have begun before the change.
    await this.#polling?.catch(() => {})
    await this.#sharePoll()
  }

  /** The lists must be checked before they are used again. */
  forget(): void {
    this.#polledAt = Number.NEGATIVE_INFINITY
  }

  #isFresh(): boolean {
    return this.#clock.monotonic() - this.#polledAt < KNOWN_FOR_MS
  }

  /** A list is read after the poll that reported it, so it is never older than that. */
  async #untilKnown(accountId: AccountId): Promise<void> {
    for (;;) {
      if (!this.#isFresh()) await this.#sharePoll()
      else if (this.#behind.has(accountId)) await this.#read(accountId)
      else return
    }
  }

  #sharePoll(): Promise<void> {
    this.#polling ??= this.#pollNow().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  async #pollNow(): Promise<void> {
    const since = this.#clock.monotonic()
    const changed = await this.#link.ask(CHANGED, [this.#version])
    const history = changed[0]?.['history']
    const rows = changed.filter((row) => row['account_id'] !== null)
    // Another database, or one that was rolled back: it may have given the versions seen here to other changes, or may not have
    // reached them yet.
    if (this.#version > 0 && (history !== this.#history || rows.length === 0)) {
      this.#lists = new Map()
      this.#behind = new Map()
      this.#version = 0
      this.forget()
      return this.#pollNow()
    }
    this.#history = history
    for (const row of rows) this.#follow(row)
    this.#version = (rows.at(-1)?.['version'] as number | undefined) ?? 0
    this.#polledAt = since
    void this.#catchUp()
  }

  #follow(row: Row): void {
    const accountId = row['account_id'] as AccountId
    if (this.#lists.get(accountId)?.version === row['version']) return
    const behind = this.#behind.get(accountId)
    if (behind) behind.row = row
    else if (row['entries'] === 0) this.#lists.delete(accountId)
    else this.#behind.set(accountId, { row, reading: null })
  }

  /** Reads ahead, one list after the other. A list that fails is read by the next query, or after the next poll. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return
    this.#isCatchingUp = true
    try {
      for (const accountId of this.#behind.keys()) await this.#read(accountId)
    } catch {
    } finally {
      this.#isCatchingUp = false
    }
  }

  async #read(accountId: AccountId): Promise<void> {
    const behind = this.#behind.get(accountId)
    if (!behind) return
    behind.reading ??= this.#readNow(accountId, behind).finally(() => {
      behind.reading = null
    })
    await behind.reading
  }

  async #readNow(accountId: AccountId, behind: Behind): Promise<void> {
    const { row } = behind
    const [version, removals] = [row['version'] as number, row['removals'] as number]
    const known = this.#lists.get(accountId)
    const isLonger = known?.removals === removals
    const { entries, hasHashes } = isLonger ? await this.#add(accountId, known) : await this.#load(accountId)
    // Meanwhile all lists were discarded, because the database was rolled back.
    if (this.#behind.get(accountId) !== behind) return
    // A recipient was erased since that poll. Without the new key, its hash cannot be recognized.
    if (hasHashes && row['hash_key'] === null) return this.forget()
    if (entries.size === 0) this.#lists.delete(accountId)
    else this.#lists.set(accountId, { version, removals, hashKey: row['hash_key'] as string | null, entries })
    if (behind.row === row || behind.row['version'] === version) this.#behind.delete(accountId)
  }

  async #add(accountId: AccountId, { version, entries }: BlockList): Promise<ReadList> {
    return { entries, hasHashes: addAll(entries, await this.#link.ask(NEWER, [accountId, version])) }
  }

  async #load(accountId: AccountId): Promise<ReadList> {
    const entries = new Set<string>()
    let hasHashes = false
    for (let after = ''; ; ) {
      const rows = await this.#link.ask(ALL, [accountId, after])
      hasHashes = addAll(entries, rows) || hasHashes
      if (rows.length < ENTRIES_AT_ONCE) return { entries, hasHashes }
      after = rows.at(-1)?.['recipient'] as string
    }
  }

  #contains(accountId: AccountId, recipient: string): boolean {
    const list = this.#lists.get(accountId)
    if (!list) return false
    if (list.entries.has(recipient)) return true
    return list.hashKey !== null && list.entries.has(hashedEntry(this.#hash(accountId, list.hashKey, recipient)))
  }
}

/** Returns whether one of them is the hash of an erased recipient. */
function addAll(entries: Set<string>, rows: readonly Row[]): boolean {
  let hasHashes = false
  for (const row of rows) {
    const entry = row['recipient'] as string
    entries.add(entry)
    hasHashes ||= isHashedEntry(entry)
  }
  return hasHashes
}
