import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import { REPORTS_NOTED_EVERY_MS } from '../../../core/ports/channel-connections.ts'
import type { Unreported } from '../../../core/ports/watch.ts'
import type { WatchDatabase } from './watch-database.ts'

const CONNECTIONS_AT_ONCE = 100
const MOST_COUNTED = 1_000

interface Candidate {
  readonly id: ConnectionId
  readonly account_id: AccountId
  readonly number: string
  readonly channel: string
  readonly last_report_at: Instant | null
  readonly counted_from: Instant
  readonly oldest_at: Instant | null
}

/**
 * Connections whose network calls back (they have a callback address) and has reported nothing since it accepted a message
 * that long ago. A connection with a later report costs nothing; every other costs one index lookup, and a count where that
 * finds something.
 *
 * - Messages within a minute of the last stored report are left out: a report on them may not have been stored again.
 * - Messages from before the start of the oldest process that takes callbacks are left out, too: Nuncio was stopped, and the
 *   callbacks of that time come late. An alarm that was raised stays until a report comes.
 */
export async function readUnreported(
  database: WatchDatabase,
  { silentForMs, now }: { readonly silentForMs: number; readonly now: Instant },
): Promise<readonly Unreported[]> {
  const found: Unreported[] = []
  const takenSince = await readTakenSince(database, now)
  for (let after = ''; ; ) {
    const values = [takenSince, after, now - silentForMs]
    const rows = (await database.ask(selectCandidates(database), values)) as unknown as readonly Candidate[]
    for (const row of rows) {
      const { oldest_at: oldestAt } = row
      if (oldestAt !== null && oldestAt <= now - silentForMs) found.push(await toUnreported(database, row, oldestAt))
    }
    if (rows.length < CONNECTIONS_AT_ONCE) return found
    after = rows.at(-1)?.id ?? ''
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Since when callbacks are taken without a break; infinity while no process takes any. */
async function readTakenSince(database: WatchDatabase, now: Instant): Promise<Instant> {
  const [row] = await database.ask(
    `select min(coalesce(started_at, 0)) as since from worker
      where ${validLeaseSql('?')} and (roles is null or ',' || roles || ',' like '%,api,%')`,
    [now, now],
  )
  return (row?.['since'] as Instant | null | undefined) ?? Number.MAX_SAFE_INTEGER
}

function selectCandidates({ undelivered }: WatchDatabase): string {
  return `select y.*, (select m.published_at ${undelivered}
        and m.connection_id = y.id and m.published_at > y.counted_from order by m.published_at limit 1) as oldest_at
    from (select x.*, case when x.reported_from > x.started_from then x.reported_from else x.started_from end as counted_from
      from (select c.id, c.account_id, c.number, c.channel, l.last_report_at,
          coalesce(l.last_report_at + ${REPORTS_NOTED_EVERY_MS}, 0) as reported_from,
          case when exists (select 1 from alarm a where a.kind = 'reports_missing' and a.object = c.id and a.cleared_at is null)
            then 0 else cast(? as bigint) end as started_from
        from connection c left join lane l on l.connection_id = c.id
        where c.callback_app is not null and c.state <> 'removed' and c.id > ? and coalesce(l.last_report_at, 0) <= ?
        order by c.id limit ${CONNECTIONS_AT_ONCE}) x) y
    order by y.id`
}

async function toUnreported(database: WatchDatabase, row: Candidate, oldestAt: Instant): Promise<Unreported> {
  const [counted] = await database.ask(
    `select count(*) as count from (select 1 ${database.undelivered}
      and m.connection_id = ? and m.published_at > ? limit ${MOST_COUNTED + 1}) few`,
    [row.id, row.counted_from],
  )
  const count = Number(counted?.['count'])
  return {
    connectionId: row.id,
    accountId: row.account_id,
    number: row.number,
    channel: row.channel,
    count: Math.min(count, MOST_COUNTED),
    isMore: count > MOST_COUNTED,
    oldestAt,
    lastReportAt: row.last_report_at,
  }
}
