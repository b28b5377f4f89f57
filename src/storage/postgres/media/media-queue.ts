import type { AccountId, ConnectionId, MessageId, SpoolId, WorkerId } from '../../../core/ids.ts'
import type { MediaType, Sequence } from '../../../core/message/message.ts'
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
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'

// A next try farther away than the longest planned wait was planned before a clock was set back. It counts as due.
const LONGEST_WAIT_MS = 600_000
// How many files of a lane that was moved from another spool are fetched ahead.
const MOVED_AT_ONCE = 300

const IS_WAITING = `exists (select from queued q where q.account_id = f.account_id and q.sequence = f.message_sequence)`

// All files of a spool: those of messages, and leftover ones. Each half has the condition and the limit, so that PostgreSQL
// reads both by index.
const filesOf = (columns: string, condition: string) => `
  select message_sequence as sequence, path ${columns} from (
    (select f.message_sequence, f.path, f.account_id from media f
       where f.state = 'ready' and f.spool = $1 and f.message_sequence > $2 ${condition} order by f.message_sequence limit $3)
    union all
    (select f.message_sequence, f.path, f.account_id from leftover_file f
       where f.spool = $1 and f.message_sequence > $2 ${condition} order by f.message_sequence limit $3)
  ) f order by message_sequence limit $3`

interface Parts {
  readonly pgConnection: PgConnection
  readonly worker: WorkerId
  readonly spool: SpoolId
}

/** Attachments that wait to be fetched, as one worker sees them. */
export class PostgresMediaQueue implements MediaQueue {
  readonly #pgConnection: PgConnection
  readonly #worker: WorkerId
  readonly #spool: SpoolId
  /** Where the next scan continues, for accounts with few due attachments among their oldest. */
  readonly #scanAfter = new Map<AccountId, Sequence>()

  constructor({ pgConnection, worker, spool }: Parts) {
    this.#pgConnection = pgConnection
    this.#worker = worker
    this.#spool = spool
  }

  async due({ now, busy, fullHosts, after, accountsAtOnce, perAccount, quotaBytes }: DueRequest): Promise<DueMedia> {
    const accounts = await this.#accountsAfter(after, accountsAtOnce)
    if (accounts.length === 0) return { media: [], scannedThrough: null }
    const rows = await this.#pgConnection.query(
      `select a.id as scanned_account, (d.media).*, d.goes_on_after from unnest($1::text[], $9::bigint[]) with ordinality a (id, beyond, i)
         cross join lateral scan_due_media($2, a.id, $3, $4, $5, $6, array(
           select full_host.host from unnest($10::text[], $11::text[]) full_host (account_id, host)
             where full_host.account_id in ('', a.id)), a.beyond) d
         where spool_bytes($7, a.id) < $8 order by a.i`,
      [
        textArray(accounts),
        this.#worker,
        now,
        LONGEST_WAIT_MS,
        bigintArray([...busy]),
        perAccount,
        this.#spool,
        quotaBytes,
        bigintArray(accounts.map((id) => this.#scanAfter.get(id) ?? 0)),
        textArray(fullHosts.map(({ accountId }) => accountId ?? '')),
        textArray(fullHosts.map(({ host }) => host)),
      ],
    )
    for (const id of accounts) this.#scanAfter.delete(id)
    const media = new Map<Sequence, MediaToFetch>()
    for (const row of rows) {
      const goesOnAfter = row['goes_on_after'] as Sequence | null
      if (goesOnAfter !== null) this.#scanAfter.set(row['scanned_account'] as AccountId, goesOnAfter)
      // Both scans may return the same attachment, because an attachment far back may be among the oldest of its lane.
      else media.set(row['sequence'] as Sequence, toFetch(row))
    }
    const scannedThrough = accounts.length < accountsAtOnce ? null : (accounts.at(-1) ?? null)
    return { media: [...media.values()], scannedThrough }
  }

  async checkHeads(sequences: readonly Sequence[]): Promise<HeadsMedia> {
    const rows = await this.#pgConnection.query(
      `select (media).sequence, (media).message_id, (media).account_id, (media).connection_id, (media).url, (media).type,
           (media).tries, (media).next_try_at, (media).is_lane_held, is_present
         from read_head_media($1, $2, $3, $4, now_ms())`,
      [this.#worker, this.#spool, bigintArray(sequences), MOVED_AT_ONCE],
    )
    return {
      missing: rows.filter((row) => row['is_present'] !== true).map(toFetch),
      present: rows
        .filter((row) => row['is_present'] === true)
        .map((row) => ({ connectionId: row['connection_id'] as ConnectionId, sequence: row['sequence'] as Sequence })),
    }
  }

  async take(sequences: readonly Sequence[]): Promise<readonly MediaToFetch[]> {
    if (sequences.length === 0) return []
    const rows = await this.#pgConnection.query('select * from take_media($1, $2, $3) order by sequence', [
      this.#worker,
      this.#spool,
      bigintArray(sequences),
    ])
    return rows.map(toFetch)
  }

  async ready(sequence: Sequence, { file, tookMs, at }: Parameters<MediaQueue['ready']>[1]): Promise<boolean> {
    const [row] = await this.#pgConnection.query(
      'select media_is_ready($1, $2, $3, $4, $5, $6, $7, $8, $9) as is_ready',
      [this.#worker, this.#spool, sequence, file.path, file.sizeBytes, file.sha256, file.mime, Math.round(tookMs), at],
    )
    return row?.['is_ready'] === true
  }

  async retry(sequence: Sequence, { code, words, at, nextTryAt }: Parameters<MediaQueue['retry']>[1]): Promise<void> {
    await this.#pgConnection.query('select retry_media($1, $2, $3, $4, $5, $6)', [
      this.#worker,
      sequence,
      code,
      words,
      at,
      nextTryAt,
    ])
  }

  async fail(sequence: Sequence, { code, words, at }: MediaTrial): Promise<void> {
    await this.#pgConnection.query('select fail_media($1, $2, $3, $4, $5)', [this.#worker, sequence, code, words, at])
  }

  async releasable(after: Sequence, limit: number): Promise<Releasable> {
    const rows = await this.#pgConnection.query(filesOf(`, not ${IS_WAITING} as is_settled`, ''), [
      this.#spool,
      after,
      limit,
    ])
    return {
      files: rows.filter((row) => row['is_settled'] === true).map(toFile),
      scannedThrough: rows.length < limit ? null : (rows.at(-1)?.['sequence'] as Sequence),
    }
  }

  async forget(sequences: readonly Sequence[]): Promise<void> {
    await this.#pgConnection.query(
      `with leftover as (delete from leftover_file where spool = $1 and message_sequence = any ($2::bigint[]))
         update media set state = 'forgotten' where message_sequence = any (array(
           select message_sequence from media
             where message_sequence = any ($2::bigint[]) and (state = 'pending' or (state = 'ready' and spool = $1))
             order by message_sequence desc for update))`,
      [this.#spool, bigintArray(sequences)],
    )
  }

  async lost(
    files: readonly SpooledFile[],
    { at, mostTries }: Parameters<MediaQueue['lost']>[1],
  ): Promise<readonly ConnectionId[]> {
    const rows = await this.#pgConnection.query('select distinct id from lose_media($1, $2, $3, $4, $5) id', [
      this.#spool,
      bigintArray(files.map(({ sequence }) => sequence)),
      textArray(files.map(({ path }) => path)),
      at,
      mostTries,
    ])
    return rows.map((row) => row['id'] as ConnectionId)
  }

  async wantedFiles(after: Sequence, limit: number): Promise<readonly SpooledFile[]> {
    const rows = await this.#pgConnection.query(filesOf('', ''), [this.#spool, after, limit])
    return rows.map(toFile)
  }

  async livingWorkers(): Promise<readonly WorkerId[]> {
    const rows = await this.#pgConnection.query('select id from worker where worker_has_lease(id)')
    return rows.map((row) => row['id'] as WorkerId)
  }

  /** Jumps from account to account, so that a long backlog of one costs no more than one message. */
  async #accountsAfter(after: AccountId | null, most: number): Promise<AccountId[]> {
    const rows = await this.#pgConnection.query(
      `with recursive a (id, n) as (
         select (select account_id from media where state = 'pending' and account_id > $1 order by account_id limit 1), 1
         union all
         select (select account_id from media where state = 'pending' and account_id > a.id order by account_id limit 1), n + 1
           from a where a.id is not null and n < $2)
       select id from a where id is not null`,
      [after ?? '', most],
    )
    return rows.map((row) => row['id'] as AccountId)
  }
}

function toFetch(row: Row): MediaToFetch {
  return {
    sequence: row['sequence'] as Sequence,
    messageId: row['message_id'] as MessageId,
    accountId: row['account_id'] as AccountId,
    connectionId: row['connection_id'] as ConnectionId,
    url: row['url'] as string,
    type: row['type'] as MediaType,
    tries: row['tries'] as number,
    nextTryAt: row['next_try_at'] as number,
    isLaneHeld: row['is_lane_held'] as boolean,
  }
}

function toFile(row: Row): SpooledFile {
  return { sequence: row['sequence'] as Sequence, path: row['path'] as string }
}
