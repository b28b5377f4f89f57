import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AccountId, ConnectionId, Instant } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import type { MediaQueue, MediaToFetch, MediaTrial, Releasable } from '../../core/ports/lanes.ts'
import type { GroupCommit } from './group-commit.ts'
import type { WaitingCounts } from './waiting-counts.ts'

const PENDING = `select media.message_sequence as sequence, message.id as messageId, media.account_id as accountId,
    media.connection_id as connectionId, media.url, media.type, media.tries, media.next_try_at as nextTryAt,
    message.state = 'QUEUED' as isWanted
  from media join message on message.sequence = media.message_sequence
  where media.state = 'pending'`

// A next try farther away than any that is planned was planned before the clock was set back: it is due.
const LONGEST_WAIT_MS = 600_000

type PendingRow = MediaToFetch & { readonly isWanted: 0 | 1 }

export class SqliteMediaQueue implements MediaQueue {
  readonly #commits: GroupCommit
  readonly #counts: WaitingCounts
  readonly #due: StatementSync
  readonly #accounts: StatementSync
  readonly #one: StatementSync
  readonly #ready: StatementSync
  readonly #isWaiting: StatementSync
  readonly #retry: StatementSync
  readonly #fail: StatementSync
  readonly #failMessage: StatementSync
  readonly #note: StatementSync
  readonly #releasable: StatementSync
  readonly #forget: StatementSync
  readonly #wanted: StatementSync
  /** Bytes in the spool by account, kept in memory because it is asked for at every look. */
  readonly #spooled: Map<AccountId, number>

  constructor(database: DatabaseSync, commits: GroupCommit, counts: WaitingCounts) {
    this.#commits = commits
    this.#counts = counts
    this.#due = database.prepare(
      `${PENDING} and media.account_id = ?1
         and (media.next_try_at <= ?2 or media.next_try_at > ?2 + ${LONGEST_WAIT_MS}) order by media.message_sequence limit ?`,
    )
    // Jumps from account to account, so that a long backlog of one costs no more than one message.
    this.#accounts = database.prepare(
      `with recursive busy (id) as (
         select (select account_id from media where state = 'pending' order by account_id limit 1)
         union all
         select (select account_id from media where state = 'pending' and account_id > busy.id order by account_id limit 1)
           from busy where busy.id is not null)
       select id from busy where id is not null`,
    )
    this.#one = database.prepare(`${PENDING} and media.message_sequence = ?`)
    this.#ready = database.prepare(
      `update media set state = 'ready', path = ?, size_bytes = ?, sha256 = ?, mime = ?, took_ms = ?, ended_at = ?, tries = tries + 1,
         code = null, words = null where message_sequence = ? and state = 'pending' returning account_id`,
    )
    this.#isWaiting = database.prepare(`select 1 from message where sequence = ? and state = 'QUEUED'`)
    this.#retry = database.prepare(
      `update media set tries = tries + 1, next_try_at = ?, code = ?, words = ? where message_sequence = ? and state = 'pending'`,
    )
    this.#fail = database.prepare(
      `update media set state = 'failed', tries = tries + 1, code = ?, words = ?, ended_at = ? where message_sequence = ? and state = 'pending'`,
    )
    this.#failMessage = database.prepare(
      `update message set state = 'FAILED', reason = ?, words = ?, settled_at = ? where sequence = ? and state = 'QUEUED'
         returning connection_id, account_id`,
    )
    this.#note = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, words)
         select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? from timeline where message_sequence = ?`,
    )
    this.#releasable = database.prepare(
      `select media.message_sequence as sequence, media.path, message.state <> 'QUEUED' as isSettled
         from media indexed by media_spool join message on message.sequence = media.message_sequence
         where media.state = 'ready' and media.message_sequence > ? order by media.message_sequence limit ?`,
    )
    this.#forget = database.prepare(
      `update media set state = 'forgotten' where message_sequence = ? and state in ('pending', 'ready') returning account_id, size_bytes`,
    )
    this.#wanted = database.prepare(`select path from media where state = 'ready'`)
    const spooled = database
      .prepare(
        `select account_id, sum(size_bytes) as bytes from media indexed by media_spool where state = 'ready' group by account_id`,
      )
      .all() as { account_id: AccountId; bytes: number }[]
    this.#spooled = new Map(spooled.map((row) => [row.account_id, row.bytes]))
  }

  async due(request: Parameters<MediaQueue['due']>[0]): Promise<readonly MediaToFetch[]> {
    const { accountId, now, busy, limit } = request
    for (;;) {
      const rows = this.#due.all(accountId, now, limit + busy.size) as unknown as PendingRow[]
      // Nobody wants the file of a message that was cancelled or has expired meanwhile.
      const unwanted = rows.filter((row) => !row.isWanted).map((row) => row.sequence)
      if (unwanted.length === 0) return rows.filter((row) => !busy.has(row.sequence)).slice(0, limit)
      await this.forget(unwanted)
    }
  }

  async accountsWithPending(): Promise<readonly AccountId[]> {
    return (this.#accounts.all() as { id: AccountId }[]).map((row) => row.id)
  }

  async pendingOf(sequences: readonly Sequence[]): Promise<readonly MediaToFetch[]> {
    return sequences
      .flatMap((sequence) => this.#one.all(sequence) as unknown as PendingRow[])
      .filter((row) => row.isWanted)
  }

  async ready(sequence: Sequence, { file, tookMs, at }: Parameters<MediaQueue['ready']>[1]): Promise<boolean> {
    const row = await this.#commits.submit(() => {
      if (!this.#isWaiting.get(sequence)) return undefined
      const facts = [file.path, file.sizeBytes, file.sha256, file.mime, Math.round(tookMs), at, sequence]
      return this.#ready.get(...facts) as { account_id: AccountId } | undefined
    })
    if (row) this.#spool(row.account_id, file.sizeBytes)
    return row !== undefined
  }

  async retry(sequence: Sequence, { nextTryAt, code, words, at }: MediaTrial & { nextTryAt: Instant }): Promise<void> {
    const kind: TimelineKind = 'media-retry'
    await this.#commits.submit(() => {
      this.#retry.run(nextTryAt, code, words, sequence)
      this.#note.run(sequence, at, kind, code, words, sequence)
    })
  }

  async fail(sequence: Sequence, { code, words, at }: MediaTrial): Promise<void> {
    const failed = await this.#commits.submit(() => {
      this.#fail.run(code, words, at, sequence)
      return this.#failMessage.get(code, words, at, sequence) as
        | { connection_id: ConnectionId; account_id: AccountId }
        | undefined
    })
    if (failed) this.#counts.change(failed.connection_id, failed.account_id, -1)
  }

  async releasable(after: Sequence, limit: number): Promise<Releasable> {
    const rows = this.#releasable.all(after, limit) as unknown as {
      sequence: Sequence
      path: string
      isSettled: 0 | 1
    }[]
    const files = rows.filter((row) => row.isSettled)
    return { files, lookedThrough: rows.length < limit ? null : (rows.at(-1)?.sequence ?? null) }
  }

  async forget(sequences: readonly Sequence[]): Promise<void> {
    const forgotten = await this.#commits.submit(() =>
      sequences.map(
        (sequence) => this.#forget.get(sequence) as { account_id: AccountId; size_bytes: number | null } | undefined,
      ),
    )
    for (const row of forgotten) if (row?.size_bytes) this.#spool(row.account_id, -row.size_bytes)
  }

  async wantedFiles(): Promise<readonly string[]> {
    return (this.#wanted.all() as { path: string }[]).map((row) => row.path)
  }

  async spoolBytes(accountId: AccountId): Promise<number> {
    return this.#spooled.get(accountId) ?? 0
  }

  #spool(accountId: AccountId, bytes: number): void {
    this.#spooled.set(accountId, Math.max(0, (this.#spooled.get(accountId) ?? 0) + bytes))
  }
}
