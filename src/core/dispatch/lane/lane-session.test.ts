import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, BEN, beat, hasSession, type Sender } from '../../../../test/conformance/storage-world.ts'
import {
  BOTH,
  type DispatchWorld,
  openDispatchWorld,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import { type Lanes, StorageUnavailable } from '../../ports/lanes.ts'
import { LEASE_MS, RENEW_EVERY_MS } from '../workers/lease.ts'

const MINUTE = 60_000

describe('a lane of a channel with sessions', () => {
  it('is claimed with nothing to send, and kept', async () => {
    const { world } = await openIdleSession()
    const anna = await world.startWorker(ANNA)

    await world.pass(5 * MINUTE)

    assert.deepEqual([world.sessions, anna.dispatcher.laneCount], [['anna: open'], 1])
    assert.equal(theOpen(world).stillHolds(), true)
    await world.close()
  })

  it('keeps its session while it is paused, and sends over the same one when it is resumed, also without a notification', async () => {
    const { world, sender } = await openIdleSession()
    const anna = await world.startWorker(ANNA, { pollEveryMs: 2_000 })
    await world.pass(100)
    await world.storage.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    anna.dispatcher.change([sender.connectionId])
    await world.pass(MINUTE)
    await world.accept(sender, 'while paused')
    await world.pass(MINUTE)
    const whilePaused = [world.sent.length, anna.dispatcher.laneCount]

    await world.storage.administration.setConnectionState(sender.connectionId, 'active', 'test')
    await world.pass(5_000)

    assert.deepEqual(whilePaused, [0, 1])
    assert.deepEqual([world.sent, world.sessions], [['anna: while paused'], ['anna: open']])
    await world.close()
  })

  it('removes its session when the connection is removed, and is claimed no more', async () => {
    const { world, sender } = await openIdleSession()
    const anna = await world.startWorker(ANNA, { pollEveryMs: 2_000 })
    await world.pass(100)

    await world.storage.administration.removeConnection(sender.connectionId, true, 'test')
    anna.dispatcher.change([sender.connectionId])
    await world.pass(MINUTE)

    assert.deepEqual(world.sessions, ['anna: open', 'anna: close', 'anna: removed'])
    assert.deepEqual([anna.dispatcher.laneCount, world.eventsOf(ANNA, 'lane.claimed').length], [0, 1])
    await world.close()
  })

  it('removes the session of a connection that was removed while no worker ran', async () => {
    const { world, sender } = await openIdleSession()
    await world.storage.administration.removeConnection(sender.connectionId, true, 'test')

    await world.startWorker(ANNA, { pollEveryMs: 2_000 })
    await world.pass(MINUTE)

    assert.deepEqual(world.sessions, ['anna: close', 'anna: removed'])
    assert.equal(await hasSession(world.storage), false)
    await world.close()
  })

  it('G2: is handed over only after its session was closed, and not claimed again meanwhile', async () => {
    const { world, sender } = await openIdleSession()
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    const closing = Promise.withResolvers<void>()
    world.closing = closing.promise
    await world.startWorker(BEN)
    await world.pass(2 * RENEW_EVERY_MS)
    await world.accept(sender, 'meanwhile')
    for (const id of [ANNA, BEN]) world.notifyPeers(id, sender.connectionId)
    anna.dispatcher.change([sender.connectionId])
    await world.pass(MINUTE)
    const whileClosing = [...(world.sessions ?? [])]
    const heldStill = theOpen(world).stillHolds()

    closing.resolve()
    await world.pass(RENEW_EVERY_MS)

    assert.deepEqual([whileClosing, heldStill], [['anna: open', 'anna: close'], false])
    assert.deepEqual(world.sessions, ['anna: open', 'anna: close', 'anna: closed', 'ben: open'])
    assert.deepEqual(world.sent, ['ben: meanwhile'])
    await world.close()
  })

  it('G2: releases its lanes after their sessions are closed when it stops', async () => {
    const { world, sender } = await openIdleSession()
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    const closing = Promise.withResolvers<void>()
    world.closing = closing.promise

    const stopped = anna.dispatcher.stop(25_000)
    await world.pass(1_000)
    const ownerBefore = await ownerOf(world, sender)
    closing.resolve()
    await stopped

    assert.deepEqual([ownerBefore, await ownerOf(world, sender)], [ANNA, null])
    assert.deepEqual(world.sessions, ['anna: open', 'anna: close', 'anna: closed'])
    await world.close()
  })

  it('G6: is mute once its lease has ended, and goes on when the lane is still its own', async () => {
    const { world } = await openIdleSession()
    let isAway = false
    const { lanes } = world.storage
    const unlessAway = <Result>(call: () => Promise<Result>) =>
      isAway ? Promise.reject(new StorageUnavailable('away', false)) : call()
    const heartbeat: Lanes['heartbeat'] = (...given) => unlessAway(() => lanes.heartbeat(...given))
    const inspect: Lanes['inspect'] = (...given) => unlessAway(() => lanes.inspect(...given))
    await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { heartbeat, inspect }) })
    await world.pass(100)
    const session = theOpen(world)

    isAway = true
    await world.pass(LEASE_MS)
    const whileAway = session.stillHolds()
    isAway = false
    await world.pass(5_000)

    assert.deepEqual([whileAway, session.stillHolds(), world.sessions], [false, true, ['anna: open']])
    await world.close()
  })

  it('G6: closes its session when another worker has claimed the lane meanwhile', async () => {
    const { world, sender } = await openIdleSession()
    let isAway = false
    const { lanes } = world.storage
    const heartbeat: Lanes['heartbeat'] = (...given) =>
      isAway ? Promise.reject(new StorageUnavailable('away', false)) : lanes.heartbeat(...given)
    await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { heartbeat }) })
    await world.pass(100)
    const session = theOpen(world)

    isAway = true
    await world.pass(LEASE_MS + 1_000)
    await beat(world.storage, BEN, MINUTE)
    await lanes.claim({ worker: BEN, only: null, held: new Set(), shouldDefer: () => false, limit: 1 })
    isAway = false
    await world.pass(5_000)

    assert.equal(session.stillHolds(), false)
    assert.deepEqual(
      [world.sessions, await ownerOf(world, sender)],
      [['anna: open', 'anna: close', 'anna: closed'], BEN],
    )
    await world.close()
  })

  it('G12: ends its session while all lanes are held, and opens it anew afterwards', async () => {
    const { world, sender } = await openIdleSession()
    const anna = await world.startWorker(ANNA, { pollEveryMs: 2_000 })
    await world.pass(100)

    await world.storage.administration.holdLanes('the database may have gone back', 'test')
    anna.dispatcher.change([sender.connectionId])
    await world.pass(MINUTE)
    const whileHeld = [...(world.sessions ?? [])]
    await world.storage.administration.releaseHold('test')
    await world.pass(5_000)

    assert.deepEqual(whileHeld, ['anna: open', 'anna: close', 'anna: closed'])
    assert.deepEqual(world.sessions?.slice(3), ['anna: open'])
    await world.close()
  })
})

/** A sender of Ben's with a stored session and nothing to send. No worker has started. */
async function openIdleSession(): Promise<{ world: DispatchWorld; sender: Sender }> {
  const world = await openDispatchWorld()
  world.sessions = []
  const sender = await world.addSenderOf(BEN, BOTH)
  await world.storage.sql(
    `insert into channel_session (connection_id, data_key, credentials, holds) values ('${sender.connectionId}', '', x'00', 0)`,
  )
  return { world, sender }
}

function theOpen({ openSessions }: DispatchWorld) {
  const [session, ...others] = openSessions.values()
  assert.ok(session && others.length === 0)
  return session
}

async function ownerOf({ storage }: DispatchWorld, { connectionId }: Sender): Promise<unknown> {
  return (await storage.sql(`select owner from lane where connection_id = '${connectionId}'`))[0]?.['owner']
}
