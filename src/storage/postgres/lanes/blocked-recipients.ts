import type { AccountId } from '../../../core/ids.ts'
import type { BlockedRecipients } from '../../../core/ports/blocked-recipients.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import { type HashRecipient, hashedEntry, isHashedEntry } from '../../../core/ports/recipients.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'

// What is promised: no attempt begins later than this after the block was committed (G13).
const KNOWN_FOR_MS = 1_000
/** Looked ahead of that, so that nobody waits for it. One look reads one row while nothing has changed. */
export const LOOK_EVERY_MS = 400
// After the last question. Whoever asks later waits for one look.
const LOOKED_AHEAD_FOR_MS = 10_000
const ENTRIES_AT_ONCE = 10_000

// One row without a list when none has changed. The history is another one whenever the database may have lost what it once had.
const CHANGED = `select concat_ws(' ', s.id, s.timeline, r.holds) as history, l.account_id, l.version, l.removals, l.entries, l.hash_key
  from checkpoint r cross join this_server() s left join block_list l on l.version >= $1 order by l.version`
const ALL = `select recipient from blocked_recipient where account_id = $1 and recipient > $2 order by recipient limit ${ENTRIES_AT_ONCE}`
const NEWER = `select recipient from blocked_recipient where account_id = $1 and version > $2 order by version`

interface BlockList {
  readonly version: number
  readonly removals: number
  /** Sealed; null where nobody was erased. */
  readonly hashKey: string | null
  /** Numbers, and hashes of those that were erased. */
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
 * Who asked to stop, from memory: some 70 bytes for each of them, and nothing of accounts that have blocked nobody. Older
 * than a second it is never used: then whoever asks waits until it has been looked up.
 *
 * One look tells which lists have changed. Each of those is then read by itself, so that a long one keeps only its own
 * account waiting (G8).
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
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Monotonic. From the start on, so that long lists are read before somebody asks. */
  #askedAt: number
  #looking: Promise<void> | null = null
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
    if (this.#isFresh() && !this.#behind.has(accountId)) return this.#judge(accountId, recipient)
    return this.#untilKnown(accountId).then(() => this.#judge(accountId, recipient))
  }

  /** To be called a few times a second. Leaves the database alone while nothing is sent. */
  async lookAhead(): Promise<void> {
    if (this.#clock.monotonic() - this.#askedAt < LOOKED_AHEAD_FOR_MS) await this.look()
  }

  /** To be called by whoever hears that a list has changed. */
  async look(): Promise<void> {
    // What is on its way may have been asked before the change.
    await this.#looking?.catch(() => {})
    await this.#shareLook()
  }

  /** What is known is not to be relied on any more. */
  forget(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY
  }

  #isFresh(): boolean {
    return this.#clock.monotonic() - this.#lookedAt < KNOWN_FOR_MS
  }

  /** A list is read after the look that told of it, so it is never older than that. */
  async #untilKnown(accountId: AccountId): Promise<void> {
    for (;;) {
      if (!this.#isFresh()) await this.#shareLook()
      else if (this.#behind.has(accountId)) await this.#read(accountId)
      else return
    }
  }

  #shareLook(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const since = this.#clock.monotonic()
    const told = await this.#link.ask(CHANGED, [this.#version])
    const history = told[0]?.['history']
    const rows = told.filter((row) => row['account_id'] !== null)
    // It is another database, or one that has gone back: others may have been given the versions that were seen, and be past
    // them already. Or not even the newest one is there that was seen.
    if (this.#version > 0 && (history !== this.#history || rows.length === 0)) {
      this.#lists = new Map()
      this.#behind = new Map()
      this.#version = 0
      this.forget()
      return this.#look()
    }
    this.#history = history
    for (const row of rows) this.#follow(row)
    this.#version = (rows.at(-1)?.['version'] as number | undefined) ?? 0
    this.#lookedAt = since
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

  /** Beforehand, one after the other. What fails is read by whoever asks, or after the next look. */
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
    // Forgotten meanwhile with all others, because the database has gone back.
    if (this.#behind.get(accountId) !== behind) return
    // Somebody was erased since that look: without the new key their hash could not be told from no entry at all.
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

  #judge(accountId: AccountId, recipient: string): boolean {
    const list = this.#lists.get(accountId)
    if (!list) return false
    if (list.entries.has(recipient)) return true
    return list.hashKey !== null && list.entries.has(hashedEntry(this.#hash(accountId, list.hashKey, recipient)))
  }
}

/** Whether one of them is of somebody who was erased. */
function addAll(entries: Set<string>, rows: readonly Row[]): boolean {
  let hasHashes = false
  for (const row of rows) {
    const entry = row['recipient'] as string
    entries.add(entry)
    hasHashes ||= isHashedEntry(entry)
  }
  return hasHashes
}
