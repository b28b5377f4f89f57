import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AccountId, ConnectionId, Instant } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import type { MediaQueue, MediaToFetch, MediaTrial } from '../../core/ports/lanes.ts'
import type { GroupCommit } from './group-commit.ts'
import type { WaitingCounts } from './waiting-counts.ts'

// A message that was cancelled or expired meanwhile is left out: nobody wants its file any more.
const PENDING = `select media.message_sequence as sequence, message.id as messageId, media.account_id as accountId,
    media.connection_id as connectionId, media.url, media.type, media.tries, media.next_try_at as nextTryAt
  from media join message on message.sequence = media.message_sequence
  where media.state = 'pending' and message.state = 'QUEUED'`

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
  readonly #bytes: StatementSync

  constructor(database: DatabaseSync, commits: GroupCommit, counts: WaitingCounts) {
    this.#commits = commits
    this.#counts = counts
    this.#due = database.prepare(
      `${PENDING} and media.account_id = ? and media.next_try_at <= ? order by media.message_sequence limit ?`,
    )
    this.#accounts = database.prepare(`select distinct account_id from media where state = 'pending'`)
    this.#one = database.prepare(`${PENDING} and media.message_sequence = ?`)
    this.#ready = database.prepare(
      `update media set state = 'ready', path = ?, size_bytes = ?, sha256 = ?, mime = ?, took_ms = ?, ended_at = ?, tries = tries + 1,
         code = null, words = null where message_sequence = ? and state = 'pending'`,
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
      `select media.message_sequence as sequence, media.path from media join message on message.sequence = media.message_sequence
         where media.state = 'ready' and message.state <> 'QUEUED' limit ?`,
    )
    this.#forget = database.prepare(`update media set state = 'forgotten' where message_sequence = ?`)
    this.#wanted = database.prepare(`select path from media where state = 'ready'`)
    this.#bytes = database.prepare(
      `select coalesce(sum(size_bytes), 0) as bytes from media where account_id = ? and state = 'ready'`,
    )
  }

  async due(request: {
    accountId: AccountId
    now: Instant
    busy: ReadonlySet<Sequence>
    limit: number
  }): Promise<readonly MediaToFetch[]> {
    const rows = this.#due.all(
      request.accountId,
      request.now,
      request.limit + request.busy.size,
    ) as unknown as MediaToFetch[]
    return rows.filter((row) => !request.busy.has(row.sequence)).slice(0, request.limit)
  }

  async accountsWithPending(): Promise<readonly AccountId[]> {
    return (this.#accounts.all() as { account_id: AccountId }[]).map((row) => row.account_id)
  }

  async pendingOf(sequences: readonly Sequence[]): Promise<readonly MediaToFetch[]> {
    return sequences.flatMap((sequence) => this.#one.all(sequence) as unknown as MediaToFetch[])
  }

  ready(sequence: Sequence, { file, tookMs, at }: Parameters<MediaQueue['ready']>[1]): Promise<boolean> {
    return this.#commits.submit(() => {
      if (!this.#isWaiting.get(sequence)) return false
      return (
        this.#ready.run(file.path, file.sizeBytes, file.sha256, file.mime, Math.round(tookMs), at, sequence).changes ===
        1
      )
    })
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

  async releasable(limit: number): Promise<readonly { sequence: Sequence; path: string }[]> {
    return this.#releasable.all(limit) as unknown as { sequence: Sequence; path: string }[]
  }

  async forget(sequences: readonly Sequence[]): Promise<void> {
    await this.#commits.submit(() => {
      for (const sequence of sequences) this.#forget.run(sequence)
    })
  }

  async wantedFiles(): Promise<readonly string[]> {
    return (this.#wanted.all() as { path: string }[]).map((row) => row.path)
  }

  async spoolBytes(accountId: AccountId): Promise<number> {
    return (this.#bytes.get(accountId) as { bytes: number }).bytes
  }
}
