import type { DatabaseSync } from 'node:sqlite'
import type { ConnectionId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { SessionRequest } from '../../../core/ports/session-requests.ts'
import type { SessionKey, SessionRight, SessionRow, SessionRows } from '../../../core/ports/session-store.ts'
import type { Directory } from '../accept/directory.ts'
import type { GroupCommit } from '../connection/group-commit.ts'

/** Each change is one of the jobs that share a commit: all of it is written, or nothing. */
export class SqliteSessionRows implements SessionRows {
  readonly #sql: ReturnType<typeof prepare>
  readonly #commits: GroupCommit
  readonly #directory: Directory

  constructor(database: DatabaseSync, commits: GroupCommit, directory: Directory) {
    this.#sql = prepare(database)
    this.#commits = commits
    this.#directory = directory
  }

  find({ connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>): ReturnType<SessionRows['find']> {
    return this.#commits.submit(() => {
      const found = this.#sql.holds.get(connectionId, epoch) as { holds: number } | undefined
      if (!found) return null
      return {
        holds: found.holds,
        row: (this.#sql.find.get(connectionId) as unknown as SessionRow | undefined) ?? null,
      }
    })
  }

  async read(
    connectionId: ConnectionId,
    kind: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    try {
      const rows = this.#sql.read.all(connectionId, kind, JSON.stringify(ids)) as unknown as Stored[]
      return new Map(rows.map(({ id, value }) => [id, value]))
    } catch (error) {
      throw new StorageUnavailable('the database cannot be read', false, { cause: error })
    }
  }

  write(right: SessionRight, change: Parameters<SessionRows['write']>[1]): Promise<boolean> {
    const { connectionId, holds } = right
    const { dataKey, credentials, reset, keys = [] } = change
    return this.#commits.submit(() => {
      if (!this.#isHeld(right)) return false
      if (dataKey !== undefined && credentials) {
        if (this.#sql.create.run(connectionId, dataKey, credentials, holds).changes === 0) return false
      } else if (!this.#sql.find.get(connectionId)) return false
      else if (credentials) this.#sql.setCredentials.run(credentials, connectionId)
      if (reset) {
        this.#sql.reset.run(connectionId, JSON.stringify(reset))
        this.#sql.setHolds.run(holds, connectionId)
      }
      for (const key of keys) this.#setKey(connectionId, key)
      return true
    })
  }

  remove(right: SessionRight): Promise<boolean> {
    return this.#commits.submit(() => {
      if (!this.#isHeld(right)) return false
      this.#sql.removeKeys.run(right.connectionId)
      return this.#sql.remove.run(right.connectionId).changes === 1
    })
  }

  findRequest({ connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>): Promise<SessionRequest | null> {
    return this.#commits.submit(() => {
      const row = this.#sql.findRequest.get(connectionId, epoch) as unknown as RequestRow | undefined
      return row ? { ...row, progress: JSON.parse(row.progress) as SessionRequest['progress'] } : null
    })
  }

  async report(
    { epoch }: Pick<SessionRight, 'epoch'>,
    written: Parameters<SessionRows['report']>[1],
  ): Promise<boolean> {
    const { connectionId, id, progress, code, endsWaits, at } = written
    const endedAt = progress.state === 'ended' ? at : null
    const done = await this.#commits.submit(() => {
      const { changes } = this.#sql.report.run(connectionId, epoch, JSON.stringify(progress), code, endedAt, id)
      if (changes === 0) return { isWritten: false, hasEnded: false }
      const hasEnded = this.#sql.endWait.run(connectionId, at, JSON.stringify(endsWaits)).changes > 0
      return { isWritten: true, hasEnded }
    })
    if (done.hasEnded) this.#directory.laneChanged(connectionId)
    return done.isWritten
  }

  async writeStatus(
    { connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>,
    { status, since, code, refusedUntil }: Parameters<SessionRows['writeStatus']>[1],
    login: Parameters<SessionRows['writeStatus']>[2],
  ): Promise<void> {
    const { at = null, device = null, version = null } = login ?? {}
    await this.#commits.submit(() => {
      this.#sql.writeStatus.run(connectionId, epoch, status, since, code, refusedUntil, at, device, version)
    })
  }

  #setKey(connectionId: ConnectionId, { kind, id, recipient, value }: SessionKey): void {
    if (value === null) this.#sql.unset.run(connectionId, kind, id)
    else this.#sql.set.run(connectionId, kind, id, recipient, value)
  }

  #isHeld({ connectionId, epoch, holds }: SessionRight): boolean {
    return (this.#sql.holds.get(connectionId, epoch) as { holds: number } | undefined)?.holds === holds
  }
}

function prepare(database: DatabaseSync) {
  return {
    holds: database.prepare(
      `select holds from checkpoint where not exists (select 1 from hold)
         and exists (select 1 from lane where connection_id = ? and epoch = ?)`,
    ),
    find: database.prepare(
      'select data_key as dataKey, credentials, holds from channel_session where connection_id = ?',
    ),
    read: database.prepare(
      `select id, value from channel_session_key
         where connection_id = ? and kind = ? and id in (select value from json_each(?))`,
    ),
    create: database.prepare(
      'insert into channel_session (connection_id, data_key, credentials, holds) values (?, ?, ?, ?) on conflict do nothing',
    ),
    setCredentials: database.prepare('update channel_session set credentials = ? where connection_id = ?'),
    setHolds: database.prepare('update channel_session set holds = ? where connection_id = ?'),
    reset: database.prepare(
      'delete from channel_session_key where connection_id = ? and kind in (select value from json_each(?))',
    ),
    set: database.prepare(
      `insert into channel_session_key (connection_id, kind, id, recipient, value) values (?, ?, ?, ?, ?)
         on conflict (connection_id, kind, id) do update set recipient = excluded.recipient, value = excluded.value`,
    ),
    unset: database.prepare('delete from channel_session_key where connection_id = ? and kind = ? and id = ?'),
    removeKeys: database.prepare('delete from channel_session_key where connection_id = ?'),
    remove: database.prepare('delete from channel_session where connection_id = ?'),
    findRequest: database.prepare(
      `select id, kind, watched_until as watchedUntil, progress from session_request
         where connection_id = ?1 and ended_at is null and ${AT_EPOCH}`,
    ),
    report: database.prepare(
      `update session_request set progress = ?3, code = ?4, ended_at = ?5
         where connection_id = ?1 and id = ?6 and ended_at is null and ${AT_EPOCH}`,
    ),
    endWait: database.prepare(
      `update lane set wait_until = ?2
         where connection_id = ?1 and wait_until > ?2 and wait_reason in (select value from json_each(?3))`,
    ),
    writeStatus: database.prepare(
      `insert into session_status as s
           (connection_id, status, since, code, refused_until, ready_at, device, version)
         select ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9 from connection c where c.id = ?1 and c.state <> 'removed' and ${AT_EPOCH}
         on conflict (connection_id) do update set status = excluded.status, since = excluded.since, code = excluded.code,
           refused_until = excluded.refused_until, ready_at = coalesce(excluded.ready_at, s.ready_at),
           device = coalesce(excluded.device, s.device), version = coalesce(excluded.version, s.version)`,
    ),
  }
}

interface Stored {
  readonly id: string
  readonly value: Uint8Array
}

interface RequestRow extends Pick<SessionRequest, 'id' | 'kind' | 'watchedUntil'> {
  readonly progress: string
}

const AT_EPOCH = 'exists (select 1 from lane where lane.connection_id = ?1 and lane.epoch = ?2)'
