import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, addSender, candidate, type Sender } from '../../../../test/conformance/storage-world.ts'
import { SENDABLE } from '../../../../test/support/sendable.ts'
import { FencedConnection } from '../connection/fenced-connection.ts'
import { PgConnection } from '../connection/pg-connection.ts'
import { PostgresIntake } from './accept.ts'

const BATCH = 16
const BATCHES = 20
const ROWS = 30_000
const MOST_TRIES = 4

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

// The statements inside a function are planned by the first calls of a session, and by what the tables hold then. A
// process that starts on an empty database keeps those plans for as long as it runs.
describe('the plans of accepting on PostgreSQL', () => {
  it('touch as little where there are many rows as where there are none, without statistics', async () => {
    const { world, sender } = await emptyWorld()

    const { few, many } = await compareTouched(world, sender)

    assert.ok(many < 3 * few, `${few} rows and blocks where there is nothing, then ${many}`)
  })

  it('would touch more if keys were joined instead of looked up one by one (the control)', async () => {
    let found = { few: 0, many: 0 }
    // Where others make many tables meanwhile, the server has all sessions plan anew, and then with what is there by now.
    for (let tries = 0; tries < MOST_TRIES && found.many <= 8 * found.few; tries += 1) {
      const { world, sender } = await emptyWorld()
      const session = await world.session()
      await session.query(
        `do $$ begin
           execute replace(pg_get_functiondef((select oid from pg_proc where proname = 'claim_idempotency_keys')), 'offset 0', '');
         end $$`,
      )
      found = await compareTouched(world, sender)
    }

    assert.ok(found.many > 8 * found.few, `only ${found.many} rows and blocks, and ${found.few} where there is nothing`)
  })
})

async function emptyWorld(): Promise<{ world: PostgresWorld; sender: Sender }> {
  const world = await newPostgresWorld()
  closing.push(() => world.close())
  const sender = await addSender(world)
  const session = await world.session()
  // Known to be empty: a table without statistics counts as ten pages. Autovacuum must not analyse it.
  await session.query('vacuum')
  for (const table of ['queued', 'idempotency', 'media', 'token', 'connection'])
    await session.query(`alter table ${table} set (autovacuum_enabled = false)`)
  return { world, sender }
}

/** How much is touched by batches where there is nothing, and by as many where there are many rows, on a session that began without any. */
async function compareTouched(world: PostgresWorld, sender: Sender): Promise<{ few: number; many: number }> {
  const accepting = { world, sender, ...openIntake(world) }
  // Stores nothing, so that the query for keys is planned where there are none.
  const refused = await accepting.intake.accept(candidate(world, { ...sender, number: '1' }, { key: 'refused' }))
  assert.equal(refused.kind, 'refused')
  await acceptBatches(accepting, 'warm')
  const few = await countTouched(accepting, 'empty')
  const session = await world.session()
  await session.query(
    `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       select i, 'm' || i, $1, 'con' || i % 1000, '{}', 0, '1', 'message', 0 from generate_series(1, ${ROWS}) i`,
    [sender.accountId],
  )
  await session.query(
    `insert into idempotency (account_id, key, fingerprint, message_sequence, accepted_at)
       select $1, 'key ' || i, 'f', i, $2 from generate_series(1, ${ROWS}) i`,
    [sender.accountId, world.clock.now()],
  )
  return { few, many: await countTouched(accepting, 'full') }
}

interface Accepting {
  readonly world: PostgresWorld
  readonly sender: Sender
  readonly intake: PostgresIntake
  /** Over which the batches go. */
  readonly pgConnection: PgConnection
}

/** How many rows are found and how many blocks of indexes are read meanwhile. Not everything that is read is found. */
async function countTouched(accepting: Accepting, name: string): Promise<number> {
  const before = await touchedUntilNow(accepting)
  await acceptBatches(accepting, name)
  return (await touchedUntilNow(accepting)) - before
}

async function touchedUntilNow({ world, pgConnection }: Accepting): Promise<number> {
  await pgConnection.query('select pg_stat_force_next_flush()')
  const [row] = await world.sql(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes) + (select sum(seq_tup_read) from pg_stat_user_tables)
       + (select sum(idx_blks_hit + idx_blks_read) from pg_statio_user_indexes) as touched`,
  )
  return Number(row?.['touched'])
}

async function acceptBatches({ world, sender, intake }: Accepting, name: string): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch++) {
    const results = await Promise.all(
      Array.from({ length: BATCH }, (_, at) =>
        // Media, keys, and a repeat now and then.
        intake.accept(
          candidate(world, sender, { key: `${name} ${batch} ${at < 4 ? 0 : at}`, media: at % 8 === 0, text: 'Hello' }),
        ),
      ),
    )
    assert.equal(results.filter(({ kind }) => kind === 'accepted').length, BATCH - 3)
  }
}

function openIntake(world: PostgresWorld): Pick<Accepting, 'intake' | 'pgConnection'> {
  const newConnection = () => {
    const pgConnection = new PgConnection({
      url: world.url,
      applicationName: 'test',
      answerWithinMs: 30_000,
      validateConnection: async () => {},
    })
    closing.push(() => pgConnection.close())
    return pgConnection
  }
  const pgConnection = newConnection()
  const intake = new PostgresIntake({
    health: { failed: () => {} },
    connections: [new FencedConnection(ANNA, { number: 100, pgConnection })],
    lookUps: newConnection(),
    background: newConnection(),
    clock: world.clock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    acceptingProcesses: () => 1,
  })
  return { intake, pgConnection }
}
