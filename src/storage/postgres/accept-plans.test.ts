import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../test/conformance/postgres-world.ts'
import { ANNA, addSender, candidate, type Sender } from '../../../test/conformance/storage-world.ts'
import { PostgresIntake } from './accept.ts'
import { Link } from './link.ts'
import { Slot } from './slot.ts'

const BATCH = 16
const BATCHES = 20
const ROWS = 300_000
const MOST_TRIES = 4

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

// The statements inside a function are planned by the first calls of a session, and by what the tables hold then. A
// process that starts on an empty database keeps those plans for as long as it runs.
describe('the plans of accepting on PostgreSQL', () => {
  it('are as good for many rows as for none, without statistics', async () => {
    const { world, sender } = await emptyWorld()

    const slowdown = await measureSlowdown(world, sender)

    assert.ok(slowdown < 5, `a batch takes ${slowdown.toFixed(1)} times as long`)
  }, 60_000)

  it('would not be if keys were joined instead of looked for one by one (the control)', async () => {
    let slowdown = 0
    // Where others make many tables meanwhile, the server has all sessions plan anew, and then with what is there by now.
    for (let tries = 0; tries < MOST_TRIES && slowdown <= 8; tries += 1) {
      const { world, sender } = await emptyWorld()
      const session = await world.session()
      await session.query(
        `do $$ begin
           execute replace(pg_get_functiondef((select oid from pg_proc where proname = 'bind_keys')), 'offset 0', '');
         end $$`,
      )
      slowdown = await measureSlowdown(world, sender)
    }

    assert.ok(slowdown > 8, `a batch takes only ${slowdown.toFixed(1)} times as long`)
  }, 60_000)
})

async function emptyWorld(): Promise<{ world: PostgresWorld; sender: Sender }> {
  const world = await newPostgresWorld()
  closing.push(() => world.close())
  const sender = await addSender(world)
  const session = await world.session()
  // That there is nothing is known: a table of which nothing is known passes for ten pages. And nobody may come to its aid.
  await session.query('vacuum')
  for (const table of ['queued', 'idempotency', 'media', 'token', 'connection'])
    await session.query(`alter table ${table} set (autovacuum_enabled = false)`)
  return { world, sender }
}

/** How many times as long a batch takes once there are many rows, on a session that began without any. */
async function measureSlowdown(world: PostgresWorld, sender: Sender): Promise<number> {
  const intake = openIntake(world)
  const run = (name: string) => fastestBatchMs({ world, sender, intake, name })
  await run('warm')
  const empty = await run('empty')
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
  await session.query('checkpoint')
  return (await run('full')) / empty
}

interface Run {
  readonly world: PostgresWorld
  readonly sender: Sender
  readonly intake: PostgresIntake
  readonly name: string
}

/** Others on the machine only add time, and a bad plan makes every batch slow. */
async function fastestBatchMs({ world, sender, intake, name }: Run): Promise<number> {
  const times: number[] = []
  for (let batch = 0; batch < BATCHES; batch++) {
    const began = performance.now()
    const results = await Promise.all(
      Array.from({ length: BATCH }, (_, at) =>
        // Media, keys, and a repeat now and then.
        intake.accept(
          candidate(world, sender, { key: `${name} ${batch} ${at < 4 ? 0 : at}`, media: at % 8 === 0, text: 'Hello' }),
        ),
      ),
    )
    times.push(performance.now() - began)
    assert.equal(results.filter(({ kind }) => kind === 'accepted').length, BATCH - 3)
  }
  return Math.min(...times)
}

function openIntake(world: PostgresWorld): PostgresIntake {
  const newLink = () => {
    const link = new Link({ url: world.url, applicationName: 'test', answerWithinMs: 30_000, greet: async () => {} })
    closing.push(() => link.close())
    return link
  }
  return new PostgresIntake({
    slots: [new Slot(ANNA, { number: 100, link: newLink() })],
    lookUps: newLink(),
    background: newLink(),
    clock: world.clock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    refusedByChannel: () => null,
    acceptingProcesses: () => 1,
  })
}
