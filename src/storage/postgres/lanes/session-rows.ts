import type { ConnectionId } from '../../../core/ids.ts'
import type { SessionRight, SessionRows } from '../../../core/ports/session-store.ts'
import { retryOnLockTimeout } from '../connection/batcher.ts'
import { textArray } from '../connection/binary-arrays.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

export class PostgresSessionRows implements SessionRows {
  readonly #link: PgConnection

  constructor(link: PgConnection) {
    this.#link = link
  }

  async find({ connectionId, epoch }: Pick<SessionRight, 'connectionId' | 'epoch'>): ReturnType<SessionRows['find']> {
    const [row] = await this.#link.ask(
      `select r.holds as right_holds, s.* from (select session_holds($1, $2, false) as holds) r
         left join channel_session s on s.connection_id = $1`,
      [connectionId, epoch],
    )
    const holds = row?.['right_holds'] as number | null
    if (!row || holds === null) return null
    if (row['data_key'] === null) return { holds, row: null }
    return {
      holds,
      row: {
        dataKey: row['data_key'] as string,
        credentials: row['credentials'] as Buffer,
        holds: row['holds'] as number,
      },
    }
  }

  async read(
    connectionId: ConnectionId,
    kind: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const rows = await this.#link.ask(
      'select id, value from channel_session_key where connection_id = $1 and kind = $2 and id = any($3::text[])',
      [connectionId, kind, textArray(ids)],
    )
    return new Map(rows.map((row) => [row['id'] as string, row['value'] as Buffer]))
  }

  async write(
    { connectionId, epoch, holds }: SessionRight,
    { dataKey, credentials, reset, keys = [] }: Parameters<SessionRows['write']>[1],
  ): Promise<boolean> {
    return this.#ask('select write_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as is_done', [
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
    return this.#ask('select remove_session($1, $2, $3) as is_done', [connectionId, epoch, holds])
  }

  /** A late or repeated change of the same worker is harmless: it writes the same again. */
  async #ask(sql: string, values: readonly unknown[]): Promise<boolean> {
    const [row] = await retryOnLockTimeout(() => this.#link.ask(sql, values))
    return row?.['is_done'] === true
  }
}
