import { sql } from 'kysely'
import { hasValidLease, LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { WorkerId } from '../../../core/ids.ts'
import type { HeldLaneView, WorkerView } from '../../../core/ports/administration.ts'
import { type Reader, type Store, snapshot } from '../store.ts'

/** A process that serves the database, from its row. */
export interface WorkerFacts {
  readonly id: WorkerId
  readonly host: string
  readonly pid: number
  readonly roles: readonly string[]
  readonly version: string
}

/** The columns that a process writes beside its heartbeat. */
export function toWorkerRow({ host, pid, roles, version }: WorkerFacts) {
  return { host, pid, roles: roles.join(','), version }
}

export async function listWorkers(store: Store): Promise<readonly WorkerView[]> {
  const { workers, held } = await snapshot(store, async (tables) => ({
    workers: await tables.selectFrom('worker').selectAll().execute(),
    held: await countHeldLanes(tables),
  }))
  const now = store.now()
  return workers
    .map((row) => ({
      id: row.id,
      isAlive: hasValidLease(row.heartbeat_until, now),
      host: row.host,
      pid: row.pid,
      roles: row.roles?.split(',').filter((role) => role !== '') ?? [],
      version: row.version,
      startedAt: row.started_at,
      // A heartbeat stores the end of the lease, which always lasts as long.
      lastHeartbeatAt: row.heartbeat_until - LEASE_MS,
      lanes: held.get(row.id)?.lanes ?? 0,
      busyLanes: held.get(row.id)?.busy ?? 0,
    }))
    .toSorted(
      (a, b) =>
        Number(b.isAlive) - Number(a.isAlive) ||
        (a.startedAt ?? 0) - (b.startedAt ?? 0) ||
        (a.id < b.id ? -1 : Number(a.id > b.id)),
    )
}

export async function listHeldLanes(store: Store): Promise<readonly HeldLaneView[]> {
  const rows = await store.database
    .selectFrom('lane as l')
    .innerJoin('connection as c', 'c.id', 'l.connection_id')
    .innerJoin('account as a', 'a.id', 'c.account_id')
    .leftJoin('worker as w', 'w.id', 'l.owner')
    .where('l.owner', 'is not', null)
    .select([
      'c.number as connection',
      'a.name as account',
      'l.owner',
      'w.heartbeat_until',
      sql<number>`(select count(*) from ${store.engine.unfinishedOfC})`.as('waiting'),
    ])
    .orderBy('c.number')
    .orderBy('a.name')
    .execute()
  const now = store.now()
  return rows.flatMap(({ connection, account, owner, heartbeat_until: until, waiting }) =>
    owner === null
      ? []
      : [{ connection, account, worker: owner, isHolderAlive: until !== null && hasValidLease(until, now), waiting }],
  )
}

async function countHeldLanes(tables: Reader) {
  const rows = await tables
    .selectFrom('lane as l')
    .where('l.owner', 'is not', null)
    .groupBy('l.owner')
    .select([
      'l.owner',
      sql<number>`count(*)`.as('lanes'),
      // Asked lane by lane: to count what waits would read every waiting message there is.
      sql<number>`sum(case when exists (select 1 from waiting v where v.connection_id = l.connection_id) then 1 else 0 end)`.as(
        'busy',
      ),
    ])
    .execute()
  return new Map(rows.map((row) => [row.owner, row]))
}
