import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addSender,
  candidate,
  head,
  holdLane,
  open,
  type Sender,
  settled,
  step,
} from '../../../../test/conformance/storage-world.ts'
import type { QueuedMessage } from '../../../core/message/message.ts'
import { type ClaimedLane, StorageUnavailable } from '../../../core/ports/lanes.ts'

const MOST_TRIES = 5
const BETWEEN_TRIES_MS = 100

// A pooler keeps connections open while it routes them to another server. These tests keep their connections open, too.
describe('a connection that a pooler routes to another server', () => {
  it('G12: accepts nothing and is closed, and the next one holds all lanes', async () => {
    const { world, sender, session } = await heldLane()
    await promote(session)

    const first = await world.intake.accept(candidate(world, sender))
    await acceptAtLast(world, sender)

    assert.deepEqual(first, { kind: 'unavailable', code: 'not_accepted' })
    assert.match((await world.administration.readHold())?.reason ?? '', /a standby was promoted that did not confirm/)
    await world.close()
  })

  it('G12: opens no attempt', async () => {
    const { world, lane, message, session } = await waitingMessage()
    await promote(session)

    await opensNothing(world, lane, message)
  })

  it('G12: opens no attempt for a process without a fence row', async () => {
    const { world, lane, message, session } = await waitingMessage()
    await promote(session)
    await session.query('delete from fence')

    await opensNothing(world, lane, message)
  })

  it('G12: does not advance the checkpoint, so no process stores the new server as verified', async () => {
    const { world, session } = await heldLane()
    await promote(session)

    await assert.rejects(session.query('select advance_checkpoint()'), { code: 'NU001' })

    await world.close()
  })

  it('goes on when the standby had confirmed every commit', async () => {
    const { world, sender, session } = await heldLane()
    await promote(session, true)

    await acceptAtLast(world, sender)

    assert.equal(await world.administration.readHold(), null)
    await world.close()
  })
})

/** Each open connection is refused once. */
async function acceptAtLast(world: PostgresWorld, sender: Sender): Promise<void> {
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    if ((await world.intake.accept(candidate(world, sender))).kind === 'accepted') return
    await setTimeout(BETWEEN_TRIES_MS)
  }
  throw new Error('Nothing is accepted any more')
}

/** On a lane whose connection has written before. */
async function waitingMessage(): Promise<Held & { message: QueuedMessage }> {
  const held = await heldLane()
  const { world, sender, lane } = held
  const sent = await head(world, lane.connectionId)
  await open(world, lane, sent)
  await accept(world, sender)
  await world.lanes.record(step(world, lane, { finish: settled(world, sent) }))
  return { ...held, message: await head(world, lane.connectionId) }
}

async function opensNothing(world: PostgresWorld, lane: ClaimedLane, message: QueuedMessage): Promise<void> {
  const isRefused = (error: unknown) => error instanceof StorageUnavailable && !error.unknown
  await assert.rejects(open(world, lane, message), isRefused)

  const session = await world.session()
  const { rows } = await session.query('select 1 from open_attempt')
  assert.deepEqual(rows, [])
  await world.close()
}

interface Held {
  readonly world: PostgresWorld
  readonly sender: Sender
  readonly lane: ClaimedLane
  readonly session: Client
}

async function heldLane(): Promise<Held> {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  return { world, sender, lane, session: await world.session() }
}

/** As if the timeline had changed since the last check. In one statement, because the process may check at any time. */
async function promote(session: Client, isSynchronous = false): Promise<void> {
  const { rowCount } = await session.query('update known_server set timeline = timeline - 1, is_synchronous = $1', [
    isSynchronous,
  ])
  assert.equal(rowCount, 1)
}
