import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addConnection,
  addSender,
  attempt,
  BEN,
  candidate,
  countMessages,
  head,
  holdLane,
  open,
  type Sender,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { SpoolId } from '../../../core/ids.ts'
import type { AcceptResult } from '../../../core/ports/intake.ts'

const HOUR = 3_600_000
const RACERS = 50

describe('idempotency keys on PostgreSQL, with two processes', () => {
  it(`makes one message of ${RACERS} equal requests that come to both at once`, async () => {
    const { world, sender, other } = await twoProcesses()

    const results = await Promise.all(
      Array.from({ length: RACERS }, (_, at) =>
        (at % 2 === 0 ? world.intake : other).accept(candidate(world, sender, { key: 'once' })),
      ),
    )

    assert.equal(new Set(results.map(idOf)).size, 1)
    assert.equal(results.filter(({ kind }) => kind === 'accepted').length, 1)
    assert.equal(results.filter(({ kind }) => kind === 'replayed').length, RACERS - 1)
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('never lets them wait for each other when they bind the same keys in opposite orders', async () => {
    const { world, sender, process, other } = await twoProcesses()
    const session = await world.session()
    // So that the server notices before their lock timeout.
    await session.query(
      `do $$ begin execute format('alter database %I set deadlock_timeout = 10', current_database()); end $$`,
    )
    // Lanes of their own, so that nothing but the keys brings them together.
    const number = '15550002000'
    const theirs = { ...sender, number, connectionId: await addConnection(world, sender.accountId, { number }) }
    // A process must have handed over a whole round within 3 s.
    const rounds = 30
    const keysPerRound = 100

    const results: AcceptResult[] = []
    for (let round = 0; round < rounds; round++) {
      const keys = Array.from({ length: keysPerRound }, (_, at) => `${round}.${at}`)
      results.push(
        ...(await Promise.all([
          ...keys.map((key) => world.intake.accept(candidate(world, sender, { key }))),
          ...keys.reverse().map((key) => other.accept(candidate(world, theirs, { key }))),
        ])),
      )
    }

    const kinds = results.map(({ kind }) => kind)
    assert.equal(kinds.filter((kind) => kind === 'accepted').length, rounds * keysPerRound)
    assert.equal(kinds.filter((kind) => kind === 'replayed').length, rounds * keysPerRound)
    assert.equal(await countMessages(world), rounds * keysPerRound)
    await Promise.all([world.storage.close(), process.close()])
    assert.equal(await countDeadlocks(session), 0)
    await world.close()
  })

  it('binds a key that has run out anew, to one message of many', async () => {
    const { world, sender, other } = await twoProcesses()
    const first = await accept(world, sender, { key: 'once' })
    await world.clock.pass(24 * HOUR)

    const results = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 === 0 ? world.intake : other).accept(candidate(world, sender, { key: 'once', fingerprint: 'new' })),
      ),
    )
    const repeated = await other.accept(candidate(world, sender, { key: 'once', fingerprint: 'new' }))

    const ids = new Set(results.map(idOf))
    assert.equal(ids.size, 1)
    assert.ok(!ids.has(first))
    assert.equal(repeated.kind, 'replayed')
    assert.ok(ids.has(idOf(repeated)))
    await world.close()
  })

  it('answers a repeat at the other process, with the state of now and a row in the log', async () => {
    const { world, sender, other } = await twoProcesses()
    const messageId = await accept(world, sender, { key: 'once' })
    const message = await head(world, sender.connectionId)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, message)

    const whileSent = await other.accept(candidate(world, sender, { key: 'once' }))
    const close = { attempt: attempt(world, message), disposition: AS_PUBLISHED }
    await world.lanes.record(step(world, lane, { finish: close }))
    const afterwards = await other.accept(candidate(world, sender, { key: 'once' }))

    assert.deepEqual(whileSent, { kind: 'replayed', messageId, state: 'QUEUED' })
    assert.deepEqual(afterwards, { kind: 'replayed', messageId, state: 'PUBLISHED' })
    const session = await world.session()
    const { rows } = await session.query('select status, code, message_id, account_id from request')
    const logged = { status: 200, code: 'HC-1', message_id: messageId, account_id: sender.accountId }
    assert.deepEqual(rows, [logged, logged])
    await world.close()
  })

  it('decides on each request of a batch: repeats, another message, no key, no such number', async () => {
    const { world, sender } = await twoProcesses()
    const known = await accept(world, sender, { key: 'known' })
    const stranger = { ...sender, number: '15559999999' }

    const results = await Promise.all([
      world.intake.accept(candidate(world, sender, { key: 'new' })),
      world.intake.accept(candidate(world, stranger, { key: 'known' })),
      world.intake.accept(candidate(world, sender, { key: 'new', fingerprint: 'other' })),
      world.intake.accept(candidate(world, stranger, { key: 'unbound' })),
      world.intake.accept(candidate(world, sender)),
      world.intake.accept(candidate(world, sender, { key: 'unbound', media: true })),
      world.intake.accept(candidate(world, sender, { key: 'new' })),
    ])

    assert.deepEqual(results.map(inShort), [
      'accepted',
      'replayed',
      'idempotency_key_reused',
      'connection_not_found',
      'accepted',
      'accepted',
      'replayed',
    ])
    assert.deepEqual([idOf(results[1]), idOf(results[6])], [known, idOf(results[0])])
    assert.equal(await countMessages(world), 4)
    const session = await world.session()
    const { rows } = await session.query(
      'select m.id from media x join message m on m.sequence = x.message_sequence and m.account_id = x.account_id',
    )
    assert.deepEqual(rows, [{ id: idOf(results[5]) }])
    await world.close()
  })

  it('says nothing about a key where the token is refused', async () => {
    const { world, sender } = await twoProcesses()
    await accept(world, sender, { key: 'known' })
    await world.administration.deleteToken(sender.tokenId, null, 'test')

    const result = await world.intake.accept(candidate(world, sender, { key: 'known' }))

    assert.deepEqual(result, { kind: 'refused', code: 'unauthorized' })
    await world.close()
  })

  it('knows which keys name a message, asked for many at once', async () => {
    const { world, sender, other } = await twoProcesses()
    const stranger = await addSender(world)
    await accept(world, sender, { key: 'known' })

    const asked = await Promise.all([
      other.namesMessage(sender.accountId, 'known'),
      other.namesMessage(sender.accountId, 'unknown'),
      other.namesMessage(stranger.accountId, 'known'),
    ])

    assert.deepEqual(asked, [true, false, false])
    await world.close()
  })
})

interface TwoProcesses {
  readonly world: PostgresWorld
  readonly sender: Sender
  readonly process: PostgresWorld['storage']
  readonly other: PostgresWorld['storage']['intake']
}

async function twoProcesses(): Promise<TwoProcesses> {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  const process = world.processOf(BEN, 'other' as SpoolId)
  return { world, sender, process, other: process.intake }
}

/** Sessions report their statistics when they end, at the latest. */
async function countDeadlocks(session: Awaited<ReturnType<PostgresWorld['session']>>): Promise<number> {
  await waitUntil(
    'the sessions have ended',
    async () => {
      const { rowCount } = await session.query(
        `select from pg_stat_activity where datname = current_database() and application_name = 'nuncio accept'`,
      )
      return rowCount === 0
    },
    { deadlineMs: 30_000, everyMs: 10 },
  )
  const { rows } = await session.query('select deadlocks from pg_stat_database where datname = current_database()')
  return Number(rows[0].deadlocks)
}

function idOf(result: AcceptResult | undefined): string | undefined {
  return result && 'messageId' in result ? result.messageId : undefined
}

function inShort(result: AcceptResult): string {
  return result.kind === 'refused' ? result.code : result.kind
}
