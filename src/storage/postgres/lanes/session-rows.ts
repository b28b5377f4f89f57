import type { ConnectionId } from '../../../core/ids.ts'
import type { SessionRequest } from '../../../core/ports/session-requests.ts'
import type { SessionRight, SessionRow, SessionRows } from '../../../core/ports/session-store.ts'
import { retryOnLockTimeout } from '../connection/batcher.ts'
import { textArray } from '../connection/binary-arrays.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

export class PostgresSessionRows implements SessionRows {
  readonly #pgConnection: PgConnection

  constructor(pgConnection: PgConnection) {
    this.#pgConnection = pgConnection
  }

  async find({ connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>): ReturnType<SessionRows['find']> {
    const [found] = await this.#pgConnection.query(
      `select r.holds as right_holds, s.data_key as "dataKey", s.credentials, s.holds
         from (select session_holds($1, $2, false) as holds) r left join channel_session s on s.connection_id = $1`,
      [connectionId, epoch],
    )
    // All but the first are null where nothing is stored.
    const { right_holds: holds, ...row } = found as unknown as SessionRow & { readonly right_holds: number | null }
    return holds === null ? null : { holds, row: row.dataKey === null ? null : row }
  }

  async read(
    connectionId: ConnectionId,
    kind: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const rows = await this.#pgConnection.query(
      'select id, value from channel_session_key where connection_id = $1 and kind = $2 and id = any($3::text[])',
      [connectionId, kind, textArray(ids)],
    )
    return new Map(rows.map((row) => [row['id'] as string, row['value'] as Buffer]))
  }

  async write(
    { connectionId, epoch, holds }: SessionRight,
    { dataKey, credentials, reset, keys = [] }: Parameters<SessionRows['write']>[1],
  ): Promise<boolean> {
    return this.#query('select write_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as is_done', [
      connectionId,
      epoch,
      holds,
      dataKey,
      credentials,
      reset && textArray(reset),
      textArray(keys.map(({ kind }) => kind)),
      textArray(keys.map(({ id }) => id)),
      textArray(keys.map(({ recipient }) => recipient)),
      keys.map(({ value }) => value),
    ])
  }

  remove({ connectionId, epoch, holds }: SessionRight): Promise<boolean> {
    return this.#query('select remove_session($1, $2, $3) as is_done', [connectionId, epoch, holds])
  }

  async findRequest({
    connectionId,
    epoch,
  }: Pick<SessionRight, 'connectionId' | 'epoch'>): Promise<SessionRequest | null> {
    const [row] = await this.#pgConnection.query(
      `select r.id, r.kind, r.watched_until as "watchedUntil", r.progress from session_request r
         where r.connection_id = $1 and r.ended_at is null
           and exists (select from lane l where l.connection_id = $1 and l.epoch = $2)`,
      [connectionId, epoch],
    )
    const found = row as unknown as (Omit<SessionRequest, 'progress'> & { readonly progress: string }) | undefined
    return found ? { ...found, progress: JSON.parse(found.progress) as SessionRequest['progress'] } : null
  }

  report({ epoch }: Pick<SessionRight, 'epoch'>, written: Parameters<SessionRows['report']>[1]): Promise<boolean> {
    const { connectionId, id, progress, code, endsWaits, at } = written
    const endedAt = progress.state === 'ended' ? at : null
    return this.#query('select report_session_request($1, $2, $3, $4, $5, $6, $7, $8) as is_done', [
      connectionId,
      epoch,
      id,
      JSON.stringify(progress),
      code,
      endedAt,
      at,
      textArray(endsWaits),
    ])
  }

  async writeStatus(
    { connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>,
    { status, since, code, refusedUntil }: Parameters<SessionRows['writeStatus']>[1],
    login: Parameters<SessionRows['writeStatus']>[2],
  ): Promise<void> {
    const { at = null, device = null, version = null } = login ?? {}
    const values = [connectionId, epoch, status, since, code, refusedUntil, at, device, version]
    await this.#query('select write_session_status($1, $2, $3, $4, $5, $6, $7, $8, $9)', values)
  }

  /** A late or repeated change of the same worker is harmless: it writes the same again. */
  async #query(sql: string, values: readonly unknown[]): Promise<boolean> {
    const [row] = await retryOnLockTimeout(() => this.#pgConnection.query(sql, values))
    return row?.['is_done'] === true
  }
}
