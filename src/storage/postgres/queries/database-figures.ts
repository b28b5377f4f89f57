import type { SpoolId } from '../../../core/ids.ts'
import type { Query } from '../connection/pg-connection.ts'

/** For the metrics: how large the database is, what lies in a spool, and how many connections are paused. */
export async function countFigures(
  ask: Query,
  spool: SpoolId,
): Promise<{ readonly databaseBytes: number; readonly spoolBytes: number; readonly pausedConnections: number }> {
  const [row] = await ask(
    `select pg_database_size(current_database()) as database_bytes,
       coalesce((select sum(size_bytes) from media where spool = $1 and state = 'ready'), 0)::bigint as spool_bytes,
       (select count(*) from connection where state = 'paused') as paused`,
    [spool],
  )
  return {
    databaseBytes: (row?.['database_bytes'] as number | undefined) ?? 0,
    spoolBytes: (row?.['spool_bytes'] as number | undefined) ?? 0,
    pausedConnections: (row?.['paused'] as number | undefined) ?? 0,
  }
}
