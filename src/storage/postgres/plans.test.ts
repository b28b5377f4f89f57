import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, it } from 'vitest'
import { newPostgresWorld } from '../../../test/conformance/postgres-world.ts'

const LANES = 500
const FEW = 4
const MANY = 60
const BATCH = 100

// What is planned while there is nothing must serve when there is much, and nobody may have to wait for an ANALYZE. So
// rows are counted, in one session which plans everything on an empty database.
describe('the functions of dispatching', { timeout: 60_000 }, () => {
  it('touch as few rows where much waits as where little does, planned while nothing was there', async () => {
    const { session, close } = await plannedOnNothing()
    await add(session, 1, FEW)
    const [few, opened] = [await dispatch(session, 0), await dispatch(session, 1)]
    await add(session, FEW + 1, MANY)

    const [many, openedOfMany] = [await dispatch(session, 2), await dispatch(session, 3)]

    for (const [what, rows] of Object.entries({ ...many })) {
      const before = few[what as keyof typeof few]
      // A tree of a hundred times as many rows is a level or two higher.
      assert.ok(rows <= 3 * before, `${what}: ${before} rows, then ${rows}`)
    }
    assert.deepEqual([opened.letters, openedOfMany.letters], ['o'.repeat(BATCH), 'o'.repeat(BATCH)])
    await close()
  })

  it('would not without the index of lanes', async () => {
    const { session, close } = await plannedOnNothing()
    await add(session, 1, FEW)
    await session.query('drop index queued_lane')
    const few = await dispatch(session, 0)
    await add(session, FEW + 1, MANY)

    const many = await dispatch(session, 1)

    assert.ok(many.loadRuns > 3 * few.loadRuns, `${few.loadRuns} rows, then ${many.loadRuns}`)
    await close()
  })
})

async function plannedOnNothing() {
  const world = await newPostgresWorld()
  const session = new Client({ connectionString: world.url })
  await session.connect()
  await session.query('vacuum')
  for (let i = 0; i < 8; i++) {
    await session.query(`select free_lanes('anna', null, null, false), expire_messages(10, 1000)`)
    await session.query(`select release_lanes('{x}', '{1}'), (select count(*) from describe_lanes('{x}', '{1}'))`)
    await dispatch(session, 0)
  }
  await session.query(
    `insert into account values ('acc', 'account', 1);
     insert into connection select 'con' || i, 'acc', i::text, 'sandbox', 'active', '{}', '{}', 1, null from generate_series(0, ${LANES - 1}) i;
     insert into lane (connection_id, account_id, owner, epoch) select id, account_id, 'anna', 1 from connection`,
  )
  const close = async () => {
    await session.end()
    await world.close()
  }
  return { session, close }
}

/** Messages of each lane, from the `first` one to the `last` one. */
async function add(session: Client, first: number, last: number): Promise<void> {
  await session.query(
    `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       select (1::bigint << 40) + n * ${LANES} + i, 'id' || n || '-' || i, 'acc', 'con' || i, repeat('x', 200), 1, 'to', 'message', now_ms()
         from generate_series(${first}, ${last}) n cross join generate_series(0, ${LANES - 1}) i`,
  )
}

/** Looks what there is in a hundred lanes, opens the first message of each, and then settles it and opens the next. */
async function dispatch(session: Client, batch: number) {
  const ids = Array.from({ length: BATCH }, (_, i) => `con${batch * BATCH + i}`)
  const before = await countRows(session)
  const { rows } = await session.query<{ lane: number; sequence: string }>('select * from load_runs($1, $2)', [
    ids,
    ids.map(() => 2),
  ])
  const loaded = await countRows(session)
  const sequences = (at: number) => ids.map((_, i) => rows.filter(({ lane }) => lane === i + 1)[at]?.sequence ?? 0)
  await session.query(OPEN, [ids, sequences(0)])
  const opened = await countRows(session)
  const move = await session.query(MOVE, [ids, sequences(0), sequences(1)])
  const moved = await countRows(session)
  await session.query(`select free_lanes('anna', null, null, false)`)
  const { letters } = move.rows[0] as { letters: string }
  const rows = { loadRuns: loaded - before, open: opened - loaded, move: moved - opened }
  return Object.defineProperty(rows, 'letters', { value: letters }) as typeof rows & { letters: string }
}

const NOTHING = Array.from({ length: 12 }, () => 'null').join(', ')
const ONES = 'array_fill(1::bigint, array[cardinality($1::text[])])'
const ACCOUNTS = `array_fill('acc'::text, array[cardinality($1::text[])])`
const OPEN = `select record_steps('anna', 0, 1, 1000, false, $1, ${ACCOUNTS}, ${ONES}, ${ONES}, null, null, null, null, null, null, null,
  null, null, null, null, null, null, $2::bigint[], ${ONES}::integer[], null, ${NOTHING}) as letters`
const MOVE = `select record_steps('anna', 0, 1, 1000, false, $1, ${ACCOUNTS}, ${ONES}, ${ONES}, ${ONES}::integer[], $2::bigint[],
  ${ONES}::integer[], ${ONES}, ${ONES}, null, null, null, null, array_fill('PUBLISHED'::text, array[cardinality($1::text[])]), null, null,
  null, $3::bigint[], ${ONES}::integer[], array_fill(true, array[cardinality($1::text[])]), ${NOTHING}) as letters`

/** How many rows were touched until now, by anybody. */
async function countRows(session: Client): Promise<number> {
  await session.query('select pg_stat_force_next_flush()')
  const { rows } = await session.query<{ touched: string }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes) + (select sum(seq_tup_read) from pg_stat_user_tables) as touched`,
  )
  return Number(rows[0]?.touched)
}
