import { crc32 } from 'node:zlib'
import type pg from 'pg'
import { withClient } from '../test/support/postgres/postgres-server.ts'
import type { MadeData } from './made-data.ts'
import type { WantedRows } from './preload.ts'
import { sendBody } from './send-request.ts'

// Settled messages are distributed over this many days; waiting ones are in the last two days.
const PERIODS = 4
const MANY_ROWS = 1_000_000
const DAY_MS = 86_400_000

const COMMON = 'sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type'
const LOGGED = 'accepted_at, remote_address, user_agent, took_us'

/** Writes straight into the tables. The lanes take turns, as in a busy service: neighbours in one lane are far apart. */
export async function preloadPostgres(data: MadeData, { waiting, settled }: WantedRows): Promise<void> {
  const periods = settled > 0 ? PERIODS : 1
  const newest = await withClient(data.database, async (client) => {
    // Otherwise the server would vacuum while rows are being written.
    await client.query('alter table queued set (autovacuum_enabled = off)')
    await listLanes(client, data)
    return openPeriods(client, periods)
  })
  const indexes = waiting + settled > MANY_ROWS ? await dropIndexes(data.database) : []
  const perPeriod = Math.ceil(settled / periods)
  const older = periods > 1 ? Math.floor(waiting / 2) : 0
  const waits = [
    { period: newest - 1, first: perPeriod + 1, count: older },
    { period: newest, first: perPeriod + 1, count: waiting - older },
  ]
  const settles = Array.from({ length: periods }, (_, back) => ({ period: newest - back, first: 1, count: perPeriod }))
  // Two at once, for two cores.
  await Promise.all([...waits.map((rows) => insertQueued(data.database, rows)), insertSettled(data.database, settles)])
  await withClient(data.database, async (client) => {
    await client.query(`set maintenance_work_mem = '512MB'`)
    for (const definition of indexes) await client.query(definition)
    // The next messages come after all of these.
    const past = Math.ceil((perPeriod + waiting) / 1024) + 1
    await client.query(`select setval('message_block', (select block_base from period where number = $1) + $2)`, [
      newest,
      past,
    ])
    await client.query('drop table preload_lane')
    // As it would be by now if these messages had come one by one. Otherwise the server does this during the measurement.
    await client.query('vacuum (analyze, parallel 2) queued')
    await client.query('vacuum (analyze, parallel 0) settled')
    await client.query('alter table queued reset (autovacuum_enabled)')
    await client.query('checkpoint')
  })
}

async function listLanes(client: pg.Client, { connections, accountId }: MadeData): Promise<void> {
  const bodies = connections.map(({ number }) => sendBody({ from: number }))
  await client.query(
    `create table preload_lane (place integer primary key, connection_id text, account_id text, body text, crc bigint)`,
  )
  await client.query(
    `insert into preload_lane select place - 1, id, $4::text, body, crc
       from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality given (id, body, crc, place)`,
    [connections.map(({ id }) => id), bodies, bodies.map((body) => crc32(body)), accountId],
  )
  // Statistics make the planner hash this table, so that the rows come in their order.
  await client.query('analyze preload_lane')
}

/** Opens the missing days. Returns the number of the current one. */
async function openPeriods(client: pg.Client, wanted: number): Promise<number> {
  const current = async () => (await client.query<{ n: number }>('select max(number) as n from period')).rows[0]?.n ?? 0
  while ((await current()) < wanted) {
    await client.query(`update period set starts_at = starts_at - ${DAY_MS}`)
    await client.query('select open_period()')
  }
  return current()
}

/** Returns the statements that create them again. Creating all at the end takes a third of the time. */
async function dropIndexes(database: string): Promise<string[]> {
  return withClient(database, async (client) => {
    const { rows } = await client.query<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
         where indrelid in ('queued'::regclass, 'settled'::regclass) and not indisprimary`,
    )
    for (const { name } of rows) await client.query(`drop index ${name}`)
    // With `only`, the index of a partitioned table would leave out its partitions.
    return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '))
  })
}

interface PeriodRows {
  readonly period: number
  readonly first: number
  readonly count: number
}

const SOURCE = `generate_series($3::bigint, $3::bigint + $1::bigint - 1) i
  join preload_lane l on l.place = i % (select count(*) from preload_lane)`
const IDENTITY = `($2::bigint << 40) + i, '01980000-' || lpad(to_hex($2::bigint), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'),
  l.account_id, l.connection_id, 'tok_benchbenchbe', 'bench-' || to_hex(i), l.body, l.crc, '15551234567', 'message'`

async function insertQueued(database: string, { period, first, count }: PeriodRows): Promise<void> {
  if (count === 0) return
  await withClient(database, (client) =>
    client.query(
      `insert into queued (${COMMON}, ${LOGGED})
         select ${IDENTITY.replace('-7000-', '-7001-')}, now_ms(), '127.0.0.1', 'nuncio-bench', 900 from ${SOURCE}`,
      [count, period, first],
    ),
  )
}

async function insertSettled(database: string, periods: readonly PeriodRows[]): Promise<void> {
  await withClient(database, async (client) => {
    for (const { period, first, count } of periods) {
      await client.query(
        `insert into settled (${COMMON}, state, attempts, published_at, settled_at, network_id, attempt_started_at, ${LOGGED})
           select ${IDENTITY}, 'PUBLISHED', 1, now_ms(), now_ms(), 'network-' || to_hex(i), now_ms(),
             now_ms(), '127.0.0.1', 'nuncio-bench', 900 from ${SOURCE}`,
        [count, period, first],
      )
    }
  })
}
