import type { AccountId } from '../../core/ids.ts'
import type { BlockedRecipients } from '../../core/ports/blocked-recipients.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { type HashRecipient, hashedEntry } from '../../core/ports/recipients.ts'
import type { Link, Row } from './link.ts'

// What is promised: no attempt begins later than this after the block was committed (G13).
const KNOWN_FOR_MS = 1_000
/** Looked ahead of that, so that nobody waits for it. One look reads one row while nothing has changed. */
export const LOOK_EVERY_MS = 400
const ENTRIES_AT_ONCE = 10_000

const CHANGED = `select account_id, version, removals, entries, hash_key from block_list where version >= $1 order by version`
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

/**
 * Who asked to stop, from memory: some 70 bytes for each of them, and nothing of accounts that have blocked nobody. Older
 * than a second it is never used: then whoever asks waits until it has been looked up.
 */
export class PostgresBlockedRecipients implements BlockedRecipients {
  readonly #clock: Clock
  readonly #link: Link
  readonly #hash: HashRecipient
  #lists = new Map<AccountId, BlockList>()
  /** Of all lists together: what was seen so far. */
  #version = 0
  /** Monotonic, from before the database was asked. */
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null

  constructor({ clock, link, hash }: { readonly clock: Clock; readonly link: Link; readonly hash: HashRecipient }) {
    this.#clock = clock
    this.#link = link
    this.#hash = hash
  }

  isBlocked(accountId: AccountId, recipient: string): boolean | Promise<boolean> {
    if (this.#isFresh()) return this.#judge(accountId, recipient)
    return this.#untilFresh().then(() => this.#judge(accountId, recipient))
  }

  /** To be called a few times a second, and by whoever hears that a list has changed. */
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

  async #untilFresh(): Promise<void> {
    while (!this.#isFresh()) await this.#shareLook()
  }

  #shareLook(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const since = this.#clock.monotonic()
    const rows = await this.#link.ask(CHANGED, [this.#version])
    // Not even the newest one is there that was seen: it is another database, or one that has gone back.
    if (rows.length === 0 && this.#version > 0) {
      this.#lists = new Map()
      this.#version = 0
      return this.#look()
    }
    for (const row of rows) await this.#follow(row)
    this.#version = (rows.at(-1)?.['version'] as number | undefined) ?? 0
    this.#lookedAt = since
  }

  async #follow(row: Row): Promise<void> {
    const accountId = row['account_id'] as AccountId
    const known = this.#lists.get(accountId)
    const [version, removals] = [row['version'] as number, row['removals'] as number]
    if (known?.version === version) return
    if (row['entries'] === 0) {
      this.#lists.delete(accountId)
      return
    }
    const isLonger = known?.removals === removals
    const entries = isLonger ? await this.#add(accountId, known) : await this.#load(accountId)
    this.#lists.set(accountId, { version, removals, hashKey: row['hash_key'] as string | null, entries })
  }

  async #add(accountId: AccountId, { version, entries }: BlockList): Promise<Set<string>> {
    for (const row of await this.#link.ask(NEWER, [accountId, version])) entries.add(row['recipient'] as string)
    return entries
  }

  async #load(accountId: AccountId): Promise<Set<string>> {
    const entries = new Set<string>()
    for (let after = ''; ; ) {
      const rows = await this.#link.ask(ALL, [accountId, after])
      for (const row of rows) entries.add(row['recipient'] as string)
      if (rows.length < ENTRIES_AT_ONCE) return entries
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
