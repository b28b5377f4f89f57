import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { prepareForHandClock } from '../../../../test/conformance/world-database.ts'
import { skipNote } from '../../../../test/support/black-box/skip-note.ts'
import { obstacleToDumping, shareDumpingServer } from '../../../../test/support/postgres/dumping-server.ts'
import { openTestDatabase } from '../../../../test/support/postgres/test-database.ts'

const LANES = 500
const FEW = 4
const MANY = 60
const BATCH = 100
const EARLY = '(1::bigint << 39)'
const LATE = '(2::bigint << 40)'
const LASTS_MS = 1_000_000
// Index entries of deleted rows are read again while another transaction reads the server's own tables. A wrong plan reads hundreds.
const FEW_BLOCKS = 20

const obstacle = obstacleToDumping()
const createOnSystem = shareDumpingServer()

// Plans that were made on empty tables must stay good on large ones, without an ANALYZE. So one session plans everything on
// an empty database, and the test counts the rows that it touches later. Servers before version 18 bound index scans less
// tightly, and those before 17 use fewer columns of an index.
describe('the functions of dispatching', () => testOn(openOnNewest))

describe.skipIf(obstacle !== null)(
  `the functions of dispatching on the PostgreSQL of this system, which may be older${skipNote(obstacle)}`,
  () => testOn(openOnSystem),
)

function testOn(openDatabase: () => Promise<string>): void {
  it('touch as few rows with many queued messages as with few, when planned on empty tables', async () => {
    const session = await plannedOnNothing(await openDatabase())
    await add(session, 1, FEW)
    const few = await dispatch(session, 0)
    await add(session, FEW + 1, MANY)

    const many = await dispatch(session, 1)

    for (const [what, touched] of Object.entries(many)) {
      const before = few[what] ?? 0
      assert.ok(touched <= 2 * before, `${what}: ${before} rows, then ${touched}`)
    }
  })

  it.each(['queued_pkey', 'queued_lane', 'queued_newest', 'queued_id'])(
    'touch as few rows with many queued messages, when planned after a backlog that left every index large but %s',
    async (index) => {
      const session = await plannedOnNothing(await openDatabase())
      await add(session, 1, MANY)
      await session.query('delete from queued')
      await session.query(`reindex index ${index}`)
      await session.query('vacuum (analyze) queued')
      for (let i = 0; i < 2; i++) await dispatch(session, 0)
      await add(session, 1, FEW)
      await addLate(session)
      const few = await dispatch(session, 0)
      await add(session, FEW + 1, MANY)

      const many = await dispatch(session, 1)

      for (const [what, touched] of Object.entries(many)) {
        const before = few[what] ?? 0
        assert.ok(touched <= 3 * before + FEW_BLOCKS, `${what}: ${before}, then ${touched}`)
      }
    },
  )

  it('touch many rows without the index of lanes', async () => {
    const session = await plannedOnNothing(await openDatabase())
    await add(session, 1, FEW)
    await session.query('drop index queued_lane')
    const few = await dispatch(session, 0)
    await add(session, FEW + 1, 4 * FEW)

    const many = await dispatch(session, 1)

    assert.ok(many['load']! > 2 * few['load']!, `${few['load']} rows, then ${many['load']}`)
  })
}

async function openOnNewest(): Promise<string> {
  const { url, drop } = await openTestDatabase({ name: 'conformance', prepare: prepareForHandClock })
  onTestFinished(drop)
  return url
}

async function openOnSystem(): Promise<string> {
  const url = await createOnSystem('nothing')
  await prepareForHandClock(url)
  return url
}

async function plannedOnNothing(url: string): Promise<Client> {
  const session = new Client({ connectionString: url })
  // The test also drops its database, perhaps before this session ends.
  session.on('error', () => {})
  onTestFinished(() => session.end())
  await session.connect()
  // Autovacuum may start at any time, and its reads would be counted.
  await session.query(
    `do $$ declare t regclass; begin
       for t in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
         execute format('alter table %s set (autovacuum_enabled = false)', t);
       end loop;
     end $$`,
  )
  await session.query('vacuum')
  for (let i = 0; i < 8; i++) await dispatch(session, 0)
  await session.query(
    `insert into account values ('acc', 'account', 1);
     insert into connection select 'con' || i, 'acc', i::text, 'sandbox', 'active', '{}', '{}', 1, null from generate_series(0, ${LANES - 1}) i;
     insert into connection select 'late' || i, 'acc', 'late' || i, 'sandbox', 'active', '{}', '{}', 1, null from generate_series(0, ${BATCH - 1}) i;
     insert into connection values ('early', 'acc', 'early', 'sandbox', 'active', '{}', '{}', 1, null);
     insert into lane (connection_id, account_id, owner, epoch) values ('early', 'acc', 'anna', 1);
     insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       values (${EARLY}, 'early', 'acc', 'early', 'x', 1, 'to', 'image', 1);
     insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
       values (${EARLY}, 'acc', 'early', 'https://example.com/', 'image', 'ready', 1)`,
  )
  return session
}

/** Messages of each lane, from the `first` one to the `last` one. */
async function add(session: Client, first: number, last: number): Promise<void> {
  await session.query(
    `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       select (1::bigint << 40) + n * ${LANES} + i, 'id' || n || '-' || i, 'acc', 'con' || i, repeat('x', 200), 1, 'to', 'message', now_ms()
         from generate_series(${first}, ${last}) n cross join generate_series(0, ${LANES - 1}) i`,
  )
}

/** One message in each of a hundred lanes, accepted after all messages of other lanes. */
async function addLate(session: Client): Promise<void> {
  await session.query(
    `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       select ${LATE} + i, 'late' || i, 'acc', 'late' || i, repeat('x', 200), 1, 'to', 'message', now_ms()
         from generate_series(0, ${BATCH - 1}) i;
     insert into lane (connection_id, account_id, owner, epoch) values ('late0', 'acc', 'anna', 1)`,
  )
}

/** Runs every operation on a hundred lanes. Returns how many rows and blocks each touched. */
async function dispatch(session: Client, batch: number): Promise<Record<string, number>> {
  const ids = Array.from({ length: BATCH }, (_, i) => `con${batch * BATCH + i}`)
  const query = async (sql: string, ...values: unknown[]) => (await session.query(sql, values)).rows
  const sequences = (rows: { lane: number; sequence: string }[], at: number) =>
    ids.map((_, i) => rows.filter(({ lane }) => lane === i + 1)[at]?.sequence ?? 0)
  const load = async () => {
    const rows = await query(
      'select * from load_runs($1, $2, $3)',
      ids,
      ids.map(() => 2),
      ids.map(() => 0),
    )
    return [ids, sequences(rows, 0), sequences(rows, 1)]
  }

  let run: unknown[] = []
  const touched: Record<string, number> = {}
  const count = async (what: string, act: () => Promise<unknown>) => {
    const before = await countTouched(session)
    await act()
    const after = await countTouched(session)
    touched[what] = after.rows - before.rows
    touched[`${what}, blocks`] = after.blocks - before.blocks
  }
  await count('find free lanes', () => query(`select free_lanes('anna', null, null, false)`))
  await count('claim', () => query(`select from claim_lanes('anna', $1, null, false)`, ids))
  await count('load', async () => {
    run = await load()
  })
  const [open, next] = [run[1], run[2]]
  await count('open what others may wait before', () => query(OPEN_IF_FIRST, ids, open))
  await count('open what waits alone', () =>
    query(
      OPEN_IF_FIRST,
      ids.map((_, i) => `late${i}`),
      ids.map((_, i) => 2 * 2 ** 40 + i),
    ),
  )
  await count('open', () => query(OPEN, ids, open))
  await count('find locked steps', () =>
    query(`select locked_steps(${ALL('acc')}, $1, $2::bigint[], null, null, null, null, null)`, ids, open),
  )
  await count('note repeats', () => query(REPEAT, ids, open))
  await count('inspect', () => query(`select from describe_lanes($1, ${ONES})`, ids))
  await count('move', () => query(MOVE, ids, open, next))
  // The only message of its lane, accepted before all messages of other lanes.
  await session.query(`delete from leftover_file; update media set state = 'ready', spool = 'there', path = 'file'`)
  await count('read head media', () => query(`select * from read_head_media('anna', 'here', array[${EARLY}], 300, 1)`))
  await count('scan due media', () =>
    query(`select * from scan_due_media('anna', 'acc', 1, 600000, '{}', 32, '{}', 0)`),
  )
  await count('take media', () => query(`select * from take_media('anna', 'here', array[${EARLY}])`))
  await count('have media', () => query(`select media_is_ready('anna', 'here', ${EARLY}, 'file', 1, '', '', 1, 1)`))
  await count('lose media', () => query(`select lose_media('here', array[${EARLY}], array['file'], 1, 9)`))
  await count('expire', () => query(`select expire_messages(10, ${LASTS_MS})`))
  await count('release', () => query(`select release_lanes($1, ${ONES})`, ids))
  return touched
}

const ONES = 'array_fill(1::bigint, array[cardinality($1::text[])])'
const NUMBERS = `${ONES}::integer[]`
const ALL = (text: string) => `array_fill('${text}'::text, array[cardinality($1::text[])])`
const STEPS = `select write_steps('anna', 0, 1, 1000, false, $1, ${ALL('acc')}, ${ONES}, ${ONES}`
const NOTHING = 'array_fill(0::bigint, array[cardinality($1::text[])])'
const TRUE = 'array_fill(true, array[cardinality($1::text[])])'
const OPEN = `${STEPS}, open_sequences => $2::bigint[], open_numbers => ${NUMBERS})`
const OPEN_IF_FIRST = `${STEPS}, open_sequences => $2::bigint[], open_numbers => ${NUMBERS}, known_throughs => ${NOTHING})`
const MOVE = `${STEPS}, ends => ${NUMBERS}, close_sequences => $2::bigint[], close_numbers => ${NUMBERS}, started_ats => ${ONES},
  ended_ats => ${ONES}, states => ${ALL('PUBLISHED')}, open_sequences => $3::bigint[], open_numbers => ${NUMBERS},
  is_plain => ${TRUE})`

const REPEAT = `select log_repeats(1, $2::bigint[], (select array_agg(i) from generate_series(1, cardinality($1::text[])) i),
  ${ALL('acc')}, ${ALL('token')}, ${ALL('request')}, ${ALL('body')}, ${ALL('address')}, ${ALL('agent')}, ${ONES})`

/** How many rows all sessions have found and how many blocks they have read so far. A scan may read blocks without finding rows. */
async function countTouched(session: Client): Promise<{ rows: number; blocks: number }> {
  await session.query('select pg_stat_force_next_flush()')
  const { rows } = await session.query<{ rows: string; blocks: string }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes) + (select sum(seq_tup_read) from pg_stat_user_tables) as rows,
       (select sum(idx_blks_hit + idx_blks_read) from pg_statio_user_indexes) as blocks`,
  )
  return { rows: Number(rows[0]?.rows), blocks: Number(rows[0]?.blocks) }
}
