import type { DatabaseSync } from 'node:sqlite'
import type { AccountId, ConnectionId, Instant, WorkerId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { TimelineKind } from '../../../core/message/timeline.ts'
import type {
  DueMedia,
  DueRequest,
  HeadsMedia,
  MediaQueue,
  MediaToFetch,
  MediaTrial,
  Releasable,
  SpooledFile,
} from '../../../core/ports/media-queue.ts'
import type { WaitingCounts } from '../accept/waiting-counts.ts'
import type { GroupCommit } from '../connection/group-commit.ts'

const PENDING = `select media.message_sequence as sequence, message.id as messageId, media.account_id as accountId,
    media.connection_id as connectionId, media.url, media.type, media.tries, media.next_try_at as nextTryAt,
    message.state = 'QUEUED' as isWanted
  from media join message on message.sequence = media.message_sequence
  where media.state = 'pending'`

// A try that is planned later than this was planned before the clock was set back, so it is due.
const LONGEST_WAIT_MS = 600_000
// Takes a millisecond. An account with more files that cannot be fetched now must not delay the others at each poll.
const ROWS_PER_QUERY = 200

type PendingRow = Omit<MediaToFetch, 'isLaneHeld'> & { readonly isWanted: 0 | 1 }

interface Owner {
  readonly connection_id: ConnectionId
  readonly account_id: AccountId
}

/** One process serves the database, so there is one worker and one spool: it holds every lane and fetches every file. */
export class SqliteMediaQueue implements MediaQueue {
  readonly #sql: ReturnType<typeof prepare>
  readonly #commits: GroupCommit
  readonly #counts: WaitingCounts
  /** For accounts without anything to fetch among their oldest rows: where the next poll continues. */
  readonly #goesOnAfter = new Map<AccountId, Sequence>()
  /** Bytes in the spool by account, kept in memory because every poll needs them. */
  readonly #spooled: Map<AccountId, number>

  constructor(database: DatabaseSync, commits: GroupCommit, counts: WaitingCounts) {
    this.#sql = prepare(database)
    this.#commits = commits
    this.#counts = counts
    const spooled = database
      .prepare(
        `select account_id, sum(size_bytes) as bytes from media indexed by media_spool where state = 'ready' group by account_id`,
      )
      .all() as { account_id: AccountId; bytes: number }[]
    this.#spooled = new Map(spooled.map((row) => [row.account_id, row.bytes]))
  }

  /** The bytes of all accounts. */
  get spoolBytes(): number {
    return [...this.#spooled.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  async due(request: DueRequest): Promise<DueMedia> {
    const media: MediaToFetch[] = []
    let { after } = request
    for (let accounts = 0; accounts < request.accountsAtOnce; accounts++) {
      const account = this.#sql.nextAccount.get(after ?? '') as { id: AccountId } | undefined
      if (!account) return { media, scannedThrough: null }
      after = account.id
      if ((this.#spooled.get(after) ?? 0) < request.quotaBytes) media.push(...(await this.#dueOf(after, request)))
    }
    return { media, scannedThrough: after }
  }

  async #dueOf(accountId: AccountId, request: DueRequest): Promise<readonly MediaToFetch[]> {
    const oldest = await this.#readDue(accountId, 0, request)
    if (oldest.media.length >= request.perAccount || oldest.scannedThrough === null) {
      this.#goesOnAfter.delete(accountId)
      return oldest.media
    }
    const after = Math.max(this.#goesOnAfter.get(accountId) ?? 0, oldest.scannedThrough)
    const further = await this.#readDue(accountId, after, request)
    // The same rows are found again until they are fetched.
    const goesOnAfter = further.media.length > 0 ? after : further.scannedThrough
    if (goesOnAfter === null) this.#goesOnAfter.delete(accountId)
    else this.#goesOnAfter.set(accountId, goesOnAfter)
    return [...oldest.media, ...further.media].slice(0, request.perAccount)
  }

  /** `scannedThrough` is null at the end. */
  async #readDue(accountId: AccountId, after: Sequence, { now, busy, fullHosts, perAccount }: DueRequest) {
    const full = new Set(
      fullHosts.filter((some) => (some.accountId ?? accountId) === accountId).map(({ host }) => host),
    )
    for (;;) {
      const [media, unwanted]: [MediaToFetch[], Sequence[]] = [[], []]
      let [rows, scannedThrough] = [0, after]
      for (const row of this.#sql.pendingOf.iterate(accountId, after) as Iterable<PendingRow>) {
        rows += 1
        scannedThrough = row.sequence
        const isDue = row.nextTryAt <= now || row.nextTryAt > now + LONGEST_WAIT_MS
        // The file of a message that was cancelled or has expired is not needed.
        if (!row.isWanted) unwanted.push(row.sequence)
        else if (isDue && !busy.has(row.sequence) && !full.has(hostOf(row.url))) media.push(toFetch(row))
        if (media.length >= perAccount) break
      }
      if (unwanted.length === 0) return { media, scannedThrough: rows < ROWS_PER_QUERY ? null : scannedThrough }
      await this.forget(unwanted)
    }
  }

  async checkHeads(sequences: readonly Sequence[]): Promise<HeadsMedia> {
    const present = sequences.flatMap((sequence) => {
      const row = this.#sql.isPresent.get(sequence) as { connectionId: ConnectionId; sequence: Sequence } | undefined
      return row ? [row] : []
    })
    return { missing: await this.take(sequences), present }
  }

  async take(sequences: readonly Sequence[]): Promise<readonly MediaToFetch[]> {
    return sequences
      .flatMap((sequence) => this.#sql.one.all(sequence) as unknown as PendingRow[])
      .filter((row) => row.isWanted)
      .map(toFetch)
  }

  async ready(sequence: Sequence, { file, tookMs, at }: Parameters<MediaQueue['ready']>[1]): Promise<boolean> {
    const row = await this.#commits.submit(() => {
      if (!this.#sql.isWaiting.get(sequence)) return undefined
      const facts = [file.path, file.sizeBytes, file.sha256, file.mime, Math.round(tookMs), at, sequence]
      return this.#sql.ready.get(...facts) as { account_id: AccountId } | undefined
    })
    if (row) this.#spool(row.account_id, file.sizeBytes)
    return row !== undefined
  }

  async retry(sequence: Sequence, { nextTryAt, code, words, at }: MediaTrial & { nextTryAt: Instant }): Promise<void> {
    const kind: TimelineKind = 'media-retry'
    await this.#commits.submit(() => {
      this.#sql.retry.run(nextTryAt, code, words, sequence)
      this.#sql.note.run(sequence, at, kind, code, words, sequence)
    })
  }

  async fail(sequence: Sequence, trial: MediaTrial): Promise<void> {
    const failed = await this.#commits.submit(() => this.#failOne(sequence, trial))
    if (failed) this.#counts.change(failed.connection_id, failed.account_id, -1)
  }

  async releasable(after: Sequence, limit: number): Promise<Releasable> {
    const rows = this.#sql.releasable.all(after, limit) as unknown as {
      sequence: Sequence
      path: string
      isSettled: 0 | 1
    }[]
    const files = rows.filter((row) => row.isSettled).map(({ sequence, path }) => ({ sequence, path }))
    return { files, scannedThrough: rows.length < limit ? null : (rows.at(-1)?.sequence ?? null) }
  }

  async forget(sequences: readonly Sequence[]): Promise<void> {
    const forgotten = await this.#commits.submit(() => sequences.map((sequence) => this.#forgetOne(sequence)))
    for (const row of forgotten) if (row?.size_bytes) this.#spool(row.account_id, -row.size_bytes)
  }

  async lost(
    files: readonly SpooledFile[],
    { at, mostTries }: { readonly at: Instant; readonly mostTries: number },
  ): Promise<readonly ConnectionId[]> {
    const gone = await this.#commits.submit(() => files.flatMap((file) => this.#loseOne(file, at, mostTries)))
    for (const row of gone) {
      this.#spool(row.account_id, -row.size_bytes)
      if (row.hasFailed) this.#counts.change(row.connection_id, row.account_id, -1)
    }
    return [...new Set(gone.filter((row) => row.isWanted).map((row) => row.connection_id))]
  }

  async wantedFiles(after: Sequence, limit: number): Promise<readonly SpooledFile[]> {
    const rows = this.#sql.wanted.all(after, limit) as unknown as SpooledFile[]
    return rows.map(({ sequence, path }) => ({ sequence, path }))
  }

  async livingWorkers(): Promise<readonly WorkerId[]> {
    return []
  }

  #loseOne({ sequence, path }: SpooledFile, at: Instant, mostTries: number) {
    const row = this.#sql.missing.get(sequence, path) as
      | (Owner & { size_bytes: number; tries: number; isWanted: 0 | 1; isOpen: 0 | 1 })
      | undefined
    // The open attempt may be reading the file. The next check comes after it.
    if (!row || row.isOpen) return []
    const trial = { code: 'media_lost', words: `it was fetched ${row.tries} times, and each time the file went`, at }
    const hasFailed = row.tries >= mostTries && this.#failOne(sequence, trial) !== undefined
    if (!row.isWanted) this.#forgetOne(sequence)
    else if (!hasFailed) {
      const kind: TimelineKind = 'media-lost'
      this.#sql.again.run(at, sequence)
      this.#sql.note.run(sequence, at, kind, 'media_lost', null, sequence)
    }
    return [{ ...row, hasFailed }]
  }

  #failOne(sequence: Sequence, { code, words, at }: MediaTrial): Owner | undefined {
    const failed = this.#sql.failMessage.get(at, words, code, sequence) as Owner | undefined
    if (failed) this.#sql.fail.run(code, words, at, sequence)
    return failed
  }

  #forgetOne(sequence: Sequence) {
    return this.#sql.forget.get(sequence) as { account_id: AccountId; size_bytes: number | null } | undefined
  }

  #spool(accountId: AccountId, bytes: number): void {
    this.#spooled.set(accountId, Math.max(0, (this.#spooled.get(accountId) ?? 0) + bytes))
  }
}

function prepare(database: DatabaseSync) {
  // Never while an attempt is open, because it may arrive. After an attempt with an unknown result the message may have
  // arrived, so it becomes UNCONFIRMED.
  const mayHaveArrived = `exists (select 1 from attempt where message_sequence = message.sequence and outcome = 'unknown')`
  return {
    pendingOf: database.prepare(
      `${PENDING} and media.account_id = ? and media.message_sequence > ? order by media.message_sequence limit ${ROWS_PER_QUERY}`,
    ),
    // Jumps from account to account, so that a long backlog of one costs no more than one message.
    nextAccount: database.prepare(
      `select account_id as id from media where state = 'pending' and account_id > ? order by account_id limit 1`,
    ),
    one: database.prepare(`${PENDING} and media.message_sequence = ?`),
    isPresent: database.prepare(
      `select media.connection_id as connectionId, media.message_sequence as sequence from media join message on message.sequence = media.message_sequence
         where media.message_sequence = ? and media.state = 'ready' and message.state = 'QUEUED'`,
    ),
    ready: database.prepare(
      `update media set state = 'ready', path = ?, size_bytes = ?, sha256 = ?, mime = ?, took_ms = ?, ended_at = ?, tries = tries + 1,
         code = null, words = null where message_sequence = ? and state = 'pending' returning account_id`,
    ),
    isWaiting: database.prepare(`select 1 from message where sequence = ? and state = 'QUEUED'`),
    retry: database.prepare(
      `update media set tries = tries + 1, next_try_at = ?, code = ?, words = ? where message_sequence = ? and state = 'pending'`,
    ),
    fail: database.prepare(
      `update media set state = 'failed', tries = tries + 1, code = ?, words = ?, ended_at = ?
         where message_sequence = ? and state in ('pending', 'ready')`,
    ),
    failMessage: database.prepare(
      `update message set settled_at = ?, words = ?, retry = null,
           state = case when ${mayHaveArrived} then 'UNCONFIRMED' else 'FAILED' end,
           reason = case when ${mayHaveArrived} then 'result_unknown' else ? end
         where sequence = ? and state = 'QUEUED' and not exists (select 1 from open_attempt
           where open_attempt.connection_id = message.connection_id and open_attempt.message_sequence = message.sequence)
         returning connection_id, account_id`,
    ),
    note: database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, words)
         select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? from timeline where message_sequence = ?`,
    ),
    releasable: database.prepare(
      `select media.message_sequence as sequence, media.path, message.state <> 'QUEUED' as isSettled
         from media indexed by media_spool join message on message.sequence = media.message_sequence
         where media.state = 'ready' and media.message_sequence > ? order by media.message_sequence limit ?`,
    ),
    forget: database.prepare(
      `update media set state = 'forgotten' where message_sequence = ? and state in ('pending', 'ready') returning account_id, size_bytes`,
    ),
    missing: database.prepare(
      `select media.account_id, media.connection_id, media.size_bytes, media.tries, message.state = 'QUEUED' as isWanted,
           exists (select 1 from open_attempt where open_attempt.connection_id = media.connection_id
             and open_attempt.message_sequence = media.message_sequence) as isOpen
         from media join message on message.sequence = media.message_sequence
         where media.message_sequence = ? and media.path = ? and media.state = 'ready'`,
    ),
    again: database.prepare(
      `update media set state = 'pending', next_try_at = ?, path = null where message_sequence = ?`,
    ),
    wanted: database.prepare(
      `select message_sequence as sequence, path from media indexed by media_spool
         where state = 'ready' and message_sequence > ? order by message_sequence limit ?`,
    ),
  }
}

/** URLs are kept in their canonical form. */
function hostOf(url: string): string {
  return url.split('/', 3)[2] ?? url
}

function toFetch({ isWanted: _, ...row }: PendingRow): MediaToFetch {
  return { ...row, isLaneHeld: true }
}
