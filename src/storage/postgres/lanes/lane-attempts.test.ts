import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  BEN,
  beat,
  claim,
  holdLane,
  open,
  settled,
  step,
} from '../../../../test/conformance/storage-world.ts'
import type { QueuedMessage } from '../../../core/message/message.ts'
import { withConnection } from '../connection/open-database.ts'

const OPENED = { fenced: false, started: true }
const NOT_OPENED = { fenced: false, started: false }
const FENCED = { fenced: true }

describe('the row of a held lane for its attempts', () => {
  it('G2: is there while the lane is held, and refuses a second attempt', async () => {
    const { world, lane, first, second } = await heldLane()

    const opened = await open(world, lane, first)
    const another = await open(world, lane, second)
    const openNow = await rows(world, 'open_attempt')

    assert.deepEqual([opened, another], [OPENED, NOT_OPENED])
    assert.deepEqual(openNow, [{ sequence: first.sequence, epoch: lane.epoch }])
    await world.close()
  })

  it('G2: refuses a second attempt also among the steps of several lanes', async () => {
    const { world, sender, lane, first, second } = await heldLane()
    const number = '15551001234'
    const connectionId = await addConnection(world, sender.accountId, { number })
    await accept(world, { ...sender, number })
    const other = await holdLane(world, ANNA, connectionId)
    const [message] = await world.lanes.fetchNext(connectionId, 1, 0)
    await open(world, lane, first)

    const together = await Promise.all([open(world, lane, second), open(world, other, message!)])

    assert.deepEqual(together, [NOT_OPENED, OPENED])
    await world.close()
  })

  it('shows nothing as open once its attempt has ended, and goes when the lane is given back', async () => {
    const { world, lane, first } = await heldLane()
    await open(world, lane, first)

    await world.lanes.record(step(world, lane, { finish: settled(world, first) }))
    const [openNow, kept] = [await rows(world, 'open_attempt'), await rows(world, 'lane_attempt')]
    await world.lanes.release([lane])

    assert.deepEqual([openNow, kept], [[], [{ sequence: null, epoch: lane.epoch }]])
    assert.deepEqual(await rows(world, 'lane_attempt'), [])
    await world.close()
  })

  it('stays with what is open in it when the lane is given back', async () => {
    const { world, lane, first } = await heldLane()
    await open(world, lane, first)

    await world.lanes.release([lane])

    assert.deepEqual(await rows(world, 'open_attempt'), [{ sequence: first.sequence, epoch: lane.epoch }])
    await world.close()
  })

  it('G6: is not made for the previous owner of the lane, also when the lane has no owner now', async () => {
    const { world, lane, first } = await heldLane()
    await world.clock.pass(15_000)
    await beat(world, BEN)
    const [his] = await claim(world, BEN)
    await world.lanes.release([his!])

    assert.deepEqual(await open(world, lane, first), FENCED)
    assert.deepEqual(await rows(world, 'lane_attempt'), [])
    await world.close()
  })

  it('forgets that an attempt was possibly superseded, with its end', async () => {
    const { world, lane, first } = await heldLane()
    await open(world, lane, first)
    await query(world, 'update lane_attempt set possibly_superseded_sequence = message_sequence, crashes = 2')

    await world.lanes.record(step(world, lane, { finish: settled(world, first) }))

    const [row] = await query(world, 'select possibly_superseded_sequence, crashes from lane_attempt')
    assert.deepEqual(row, { possibly_superseded_sequence: null, crashes: 0 })
    await world.close()
  })
})

async function heldLane() {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  await accept(world, sender, { text: 'first' })
  await accept(world, sender, { text: 'second' })
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const [first, second] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
  return { world, sender, lane, first: first as QueuedMessage, second: second as QueuedMessage }
}

async function rows(world: PostgresWorld, table: 'open_attempt' | 'lane_attempt') {
  return query(world, `select message_sequence as sequence, epoch from ${table}`)
}

function query(world: PostgresWorld, sql: string): Promise<Record<string, unknown>[]> {
  return withConnection(world.url, (query) => query(sql))
}
