import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  BEN,
  head,
  holdLane,
  open,
  type Sender,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { ConnectionId, MessageId, SpoolId } from '../../../core/ids.ts'

const DEADLINE = { deadlineMs: 30_000, everyMs: 10 }
const REASON = 'whatsapp_131047'
const AS_FAILED = { do: 'finalize', as: 'FAILED', reason: REASON, words: null } as const

let world: PostgresWorld
let sender: Sender
let failed: MessageId

beforeEach(async () => {
  world = await newPostgresWorld()
  sender = await addSender(world)
  failed = await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  const close = { attempt: attempt(world, message, 'rejected'), disposition: AS_FAILED }
  await world.lanes.record(step(world, lane, { finish: close }))
})

afterEach(() => world.close())

describe('sending again on PostgreSQL', () => {
  it('notifies the lane in the process that holds it', async () => {
    const changed: ConnectionId[] = []
    const ben = world.processOf(BEN, 'spool' as SpoolId)
    const others = { lanesChanged: (ids: readonly ConnectionId[]) => changed.push(...ids), lanesWoken: () => {} }
    await world.storage.start(others)
    await waitUntil(
      'notices are heard',
      async () => {
        await world.administration.setConnectionState(sender.connectionId, 'active', 'test')
        return changed.includes(sender.connectionId)
      },
      DEADLINE,
    )
    changed.length = 0

    const copy = await ben.sendAgain({ connectionId: sender.connectionId, messageId: failed, reason: REASON })

    assert.ok(copy)
    await waitUntil('the lane is woken', async () => changed.includes(sender.connectionId), DEADLINE)
  })

  it('G5: makes one copy when two processes are asked at the same time', async () => {
    const ben = world.processOf(BEN, 'spool' as SpoolId)
    const about = { connectionId: sender.connectionId, messageId: failed, reason: REASON }

    const copies = await Promise.all([world.storage, ben, world.storage, ben].map((each) => each.sendAgain(about)))

    assert.equal(copies.filter((copy) => copy !== null).length, 1)
  })

  it('makes none while the database takes nothing, and one when it does again', async () => {
    const session = await world.session()
    await session.query(`alter table queued add constraint takes_nothing check (false) not valid`)

    await assert.rejects(
      world.storage.sendAgain({ connectionId: sender.connectionId, messageId: failed, reason: REASON }),
    )

    await session.query('alter table queued drop constraint takes_nothing')
    assert.ok(await world.storage.sendAgain({ connectionId: sender.connectionId, messageId: failed, reason: REASON }))
  })
})
