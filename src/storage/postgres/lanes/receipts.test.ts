import assert from 'node:assert/strict'
import type { Client } from 'pg'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addSender,
  head,
  holdLane,
  open,
  type Sender,
  settled,
  stateOf,
  step,
  timelineOf,
} from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { MessageId } from '../../../core/ids.ts'
import type { Receipt } from '../../../core/ports/channel.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { ReceiptWriter } from './receipts.ts'

const DAY = 24 * 3_600_000

describe('reports on PostgreSQL', () => {
  it('scans only the days around the one that the id was made on', async () => {
    const { world, sender, id } = await published()
    await days(world, 4)
    const { session, receipts } = await ownWriter(world)
    const before = await scansOf(session)

    await receipts.apply(report(sender, id, 'delivered'))

    const after = Object.entries(await scansOf(session))
    const scanned = after.filter(([name, count]) => count > (before[name] ?? 0)).map(([name]) => name)
    assert.deepEqual(scanned.toSorted(), ['settled_p0', 'settled_p1'])
    assert.equal(await stateOf(world, id), 'DELIVERED')
    await world.close()
  })

  it('searches for a network’s own id in the indexes on just those, of every day, and reads no table', async () => {
    const { world, sender, id } = await published()
    await days(world, 2)
    const { session, receipts } = await ownWriter(world)
    await session.query(`update settled set network_id = 'wamid.one'`)
    const before = await scansOf(session, NETWORK_IDS)
    const unnamed = { ...report(sender, id, 'read'), messageId: null }

    const found = await receipts.apply({ ...unnamed, networkId: 'wamid.one' })
    const after = Object.entries(await scansOf(session, NETWORK_IDS))
    const lost = await receipts.apply({ ...unnamed, networkId: 'net-1' })

    assert.deepEqual([found, lost, await stateOf(world, id)], ['applied', 'message-unknown', 'READ'])
    const scanned = after.filter(([name, count]) => count > (before[name] ?? 0)).map(([name]) => name)
    assert.deepEqual(scanned.toSorted(), ['settled_p0', 'settled_p1', 'settled_p2', 'settled_p3'])
    await world.close()
  })

  it('would read the tables without that index', async () => {
    const { world, sender, id } = await published()
    const { session, receipts } = await ownWriter(world)
    const scans = async () => {
      await session.query('select pg_stat_force_next_flush()')
      return Number((await session.query<{ scans: string }>(SCANS)).rows[0]?.scans)
    }
    const unnamed = { ...report(sender, id, 'read'), messageId: null, networkId: 'wamid.one' }

    const reads: number[] = []
    for (const prepare of ['', 'drop index settled_network_id']) {
      if (prepare) await session.query(prepare)
      const before = await scans()
      await receipts.apply(unnamed)
      reads.push((await scans()) - before)
    }

    assert.equal(reads[0], 0)
    assert.ok(reads[1]! > 0)
    await world.close()
  })

  it('finds a message whose id has another time, or none', async () => {
    const { world, sender, id } = await published()
    await days(world, 2)
    const session = await world.session()
    const renamed = ['00000000-0000-7000-8000-000000000000', 'made-by-hand'] as MessageId[]

    const states: string[] = []
    let before = id
    for (const [i, after] of renamed.entries()) {
      await session.query('update settled set id = $1 where id = $2', [after, before])
      assert.equal(await world.lanes.applyReceipt(report(sender, after, i === 0 ? 'delivered' : 'read')), 'applied')
      states.push(await stateOf(world, after))
      before = after
    }

    assert.deepEqual(states, ['DELIVERED', 'READ'])
    await world.close()
  })

  it('applies the reports of a turn in few round trips, and those of one message one after the other', async () => {
    const { world, id, sender } = await published()
    const others = [await publish(world, sender), await publish(world, sender)]
    await days(world, 1)
    const { receipts, asked } = await ownWriter(world)

    const answers = await Promise.all([
      receipts.apply(report(sender, id, 'delivered')),
      receipts.apply(report(sender, id, 'read')),
      receipts.apply(report(sender, id, 'failed')),
      ...others.map((other) => receipts.apply(report(sender, other, 'read'))),
      receipts.apply(report(sender, 'unknown' as MessageId, 'read')),
      receipts.apply(report(sender, 'no\0body' as MessageId, 'read')),
    ])

    assert.deepEqual(answers, [
      'applied',
      'applied',
      'contradicted',
      'applied',
      'applied',
      'message-unknown',
      'message-unknown',
    ])
    assert.equal(asked(), 6)
    assert.deepEqual(
      (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt')),
      ['receipt-delivered', 'receipt-read', 'receipt-contrary'],
    )
    assert.deepEqual(await Promise.all([id, ...others].map((each) => stateOf(world, each))), ['READ', 'READ', 'READ'])
    await world.close()
  })

  it('returns a report that speaks of a message which waits, and leaves it waiting', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const id = await accept(world, sender)

    const answers = await Promise.all([0, 1].map(() => world.lanes.applyReceipt(report(sender, id, 'delivered'))))

    assert.deepEqual(answers, ['applied', 'applied'])
    assert.equal(await stateOf(world, id), 'QUEUED')
    assert.deepEqual((await timelineOf(world, id)).toSorted(), ['accepted', 'receipt-contrary'])
    await world.close()
  })

  it('writes nothing of a person who is being erased at the same time', async () => {
    const { world, sender, id } = await published()
    const [eraser, looker] = [await world.session(), await world.session()]
    await eraser.query(`begin; update settled set recipient = 'erased', network_id = 'erased', words = null`)
    const reported = {
      ...report(sender, id, 'failed'),
      code: 'recipient_refused' as const,
      words: '+1 555 010 0000 is not there',
      networkId: 'net-2',
    }

    const answer = world.lanes.applyReceipt(reported)
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const waiting = async () => (await looker.query(waits)).rows.length > 0
    await waitUntil('the report waits for the row', waiting, { deadlineMs: 5_000, everyMs: 5 })
    await eraser.query('commit')

    assert.equal(await answer, 'applied')
    const { rows } = await looker.query(
      `select s.state, s.words, s.network_id, t.words as reported from settled s
         join timeline t on t.message_sequence = s.sequence and t.kind = 'receipt-failed'`,
    )
    assert.deepEqual(rows, [{ state: 'FAILED', words: null, network_id: 'erased', reported: null }])
    await world.close()
  })

  it('brings messages of two days forward in one turn', async () => {
    const { world, id, sender } = await published()
    await days(world, 1)
    const later = await publish(world, sender)

    await Promise.all([id, later].map((each) => world.lanes.applyReceipt(report(sender, each, 'read'))))

    assert.deepEqual([await stateOf(world, id), await stateOf(world, later)], ['READ', 'READ'])
    await world.close()
  })
})

async function published(): Promise<{ world: PostgresWorld; sender: Sender; id: MessageId }> {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  return { world, sender, id: await publish(world, sender) }
}

async function publish(world: PostgresWorld, sender: Sender): Promise<MessageId> {
  const id = await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(step(world, lane, { finish: settled(world, message) }))
  return id
}

/** So many days pass, each with a period of its own. Ids are made today, which is the first of them. */
async function days(world: PostgresWorld, count: number): Promise<void> {
  const session = await world.session()
  // The tables were made by the machine's clock, which is ahead of the one that passes here.
  await session.query('update period set starts_at = $1', [world.clock.now()])
  for (let i = 0; i < count; i++) {
    await world.clock.pass(DAY)
    await session.query('select open_period()')
  }
  await session.query('update period set starts_at = $1 + (number - 1) * $2::bigint where number > 0', [
    Date.now(),
    DAY,
  ])
}

/** Reports go through one session, and are counted. */
async function ownWriter(world: PostgresWorld) {
  const session = await world.session()
  let count = 0
  const pgConnection = {
    async query(sql: string, values: unknown[]) {
      count += 1
      return (await session.query(sql, values)).rows
    },
  } as unknown as PgConnection
  return { session, receipts: new ReceiptWriter(pgConnection), asked: () => count }
}

const IDS = '^settled_p[0-9]+_id_idx$'
const NETWORK_IDS = '^settled_p[0-9]+_network_id_idx$'
const SCANS = `select sum(seq_scan) as scans from pg_stat_user_tables where relname like 'settled_p%'`

/** How often each index of ids was scanned. */
async function scansOf(session: Client, indexes = IDS): Promise<Record<string, number>> {
  await session.query('select pg_stat_force_next_flush()')
  const { rows } = await session.query<{ name: string; count: string }>(
    `select relname as name, idx_scan as count from pg_stat_user_indexes where indexrelname ~ $1`,
    [indexes],
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]))
}

function report({ connectionId }: Sender, messageId: MessageId, kind: Receipt['kind']): Receipt {
  return { connectionId, messageId, attemptNumber: null, networkId: null, kind, at: 1, code: null, words: null }
}
