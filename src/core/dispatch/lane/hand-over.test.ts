import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, BEN, beat, stateOf } from '../../../../test/conformance/storage-world.ts'
import {
  ACCEPTED,
  BOTH,
  openDispatchWorld,
  openTwoLanes,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import type { WorkerId } from '../../ids.ts'
import { type Lanes, StorageUnavailable } from '../../ports/lanes.ts'
import { RENEW_EVERY_MS } from '../workers/lease.ts'

const MINUTE = 60_000

describe('a lane that is assigned to another worker', () => {
  it('G2 G3: is handed over once the running attempt is recorded, and nothing new is opened before', async () => {
    const { world, bens } = await openTwoLanes()
    const second = await world.accept(bens, 'second')
    world.answer = ({ worker }) => (worker === ANNA ? null : ACCEPTED)
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    await world.startWorker(BEN)
    await world.pass(2 * RENEW_EVERY_MS)
    const whileCalling = [...world.sent]
    const isOwn = anna.dispatcher.wake(bens.connectionId)

    world.callOf('for ben').end(ACCEPTED)
    await world.pass(300)

    assert.deepEqual([...whileCalling].sort(), ['anna: for anna', 'anna: for ben'])
    assert.equal(isOwn, false)
    assert.deepEqual(world.sent.slice(2), ['ben: second'])
    assert.equal(await stateOf(world.storage, second), 'PUBLISHED')
    assert.equal(world.eventsOf(BEN, 'attempt.recovered').length, 0)
    await world.close()
  })

  it('is handed over while it waits, and keeps its pace', async () => {
    const world = await openDispatchWorld()
    const sender = await world.addSenderOf(BEN, BOTH, { leastGapMs: 20_000 })
    await world.accept(sender, 'first')
    await world.accept(sender, 'second')
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    await world.startWorker(BEN)
    await world.pass(RENEW_EVERY_MS + 100)
    const held = anna.dispatcher.laneCount
    await world.pass(15_000)
    const before = [...world.sent]
    await world.pass(5_000)

    assert.equal(held, 0)
    assert.deepEqual(before, ['anna: first'])
    assert.deepEqual(world.sent, ['anna: first', 'ben: second'])
    await world.close()
  })

  it('is handed over when it is idle', async () => {
    const { world, bens } = await openTwoLanes()
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    const ben = await world.startWorker(BEN)
    await world.pass(RENEW_EVERY_MS)

    await world.accept(bens, 'second')
    const isOwn = [anna, ben].map(({ dispatcher }) => dispatcher.wake(bens.connectionId))
    await world.pass(100)

    assert.equal(anna.dispatcher.laneCount, 1)
    assert.deepEqual(isOwn, [false, true])
    assert.equal(world.sent.at(-1), 'ben: second')
    await world.close()
  })

  it('G5: is handed over while it waits for evidence, which the other goes on to wait for', async () => {
    const world = await openDispatchWorld()
    const sender = await world.addSenderOf(BEN, BOTH)
    const id = await world.accept(sender, 'first')
    world.evidenceWaitMs = 60_000
    world.answer = () => ({ kind: 'unknown', words: 'reset' })
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    const ben = await world.startWorker(BEN)
    await world.pass(20_000)
    const held = [anna, ben].map(({ dispatcher }) => dispatcher.laneCount)
    const before = await stateOf(world.storage, id)
    world.evidence = { kind: 'accepted', networkId: 'net-1' }
    await world.pass(6_000)

    assert.deepEqual(held, [0, 1])
    assert.equal(before, 'SENDING')
    assert.equal(await stateOf(world.storage, id), 'PUBLISHED')
    assert.deepEqual(world.sent, ['anna: first'])
    // That would count against the message.
    assert.equal(world.eventsOf(BEN, 'attempt.recovered').length, 0)
    await world.close()
  })

  it('G5: is handed over with its outcome, however long storage cannot take it', async () => {
    const world = await openDispatchWorld()
    const sender = await world.addSenderOf(BEN, BOTH)
    const id = await world.accept(sender, 'first')
    let isAway = false
    const record: Lanes['record'] = (step) =>
      isAway && step.finish ? Promise.reject(new StorageUnavailable('away', false)) : world.storage.lanes.record(step)
    world.answer = () => null
    await world.startWorker(ANNA, { lanes: overrideLanes(world.storage.lanes, { record }) })
    await world.pass(100)
    isAway = true
    await world.startWorker(BEN)
    world.callOf('first').end(ACCEPTED)

    await world.pass(30_000)
    const meanwhile = await stateOf(world.storage, id)
    isAway = false
    await world.pass(1_000)

    assert.equal(meanwhile, 'SENDING')
    assert.equal(await stateOf(world.storage, id), 'PUBLISHED')
    assert.deepEqual(world.sent, ['anna: first'])
    await world.close()
  })

  it('comes back when the other worker has gone before it was handed over', async () => {
    const { world, bens } = await openTwoLanes()
    await world.accept(bens, 'second')
    world.answer = () => null
    await world.startWorker(ANNA)
    await world.pass(100)
    const ben = await world.startWorker(BEN)
    await world.pass(RENEW_EVERY_MS)
    await ben.dispatcher.stop(0)
    await world.pass(RENEW_EVERY_MS)

    world.answer = () => ACCEPTED
    world.callOf('for ben').end(ACCEPTED)
    await world.pass(100)

    assert.equal(world.sent.at(-1), 'anna: second')
    await world.close()
  })

  it('stays when a third worker comes that it is not assigned to', async () => {
    const { world } = await openTwoLanes()
    const sender = await world.addSenderOf(ANNA, [ANNA, 'cleo' as WorkerId])
    await world.accept(sender, 'first')
    world.answer = () => null
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    const { length } = world.eventsOf(ANNA, 'lane.lost')

    await beat(world.storage, 'cleo' as WorkerId, MINUTE)
    await world.pass(2 * RENEW_EVERY_MS)

    assert.equal(length, 0)
    assert.equal(anna.dispatcher.wake(sender.connectionId), true)
    await world.close()
  })

  it('starts no message that was being loaded when the other worker came', async () => {
    const { world } = await openTwoLanes()
    const { lanes, clock } = world.storage
    const fetchNext: Lanes['fetchNext'] = async (...given) => {
      await new Promise<void>((resolve) => clock.after(2 * RENEW_EVERY_MS, resolve))
      return lanes.fetchNext(...given)
    }
    await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { fetchNext }) })
    await world.pass(100)

    await world.startWorker(BEN)
    await world.pass(3 * RENEW_EVERY_MS)

    assert.deepEqual([...world.sent].sort(), ['anna: for anna', 'ben: for ben'])
    await world.close()
  })

  it('is handed over when its claim was on its way as the other worker came', async () => {
    const { world } = await openTwoLanes()
    const { lanes, clock } = world.storage
    const claim: Lanes['claim'] = async (request) => {
      const claimed = await lanes.claim(request)
      await new Promise<void>((resolve) => clock.after(RENEW_EVERY_MS + 1_000, resolve))
      return claimed
    }
    await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { claim }) })
    await world.pass(100)

    await world.startWorker(BEN)
    await world.pass(RENEW_EVERY_MS + 1_500)

    assert.deepEqual([...world.sent].sort(), ['anna: for anna', 'ben: for ben'])
    await world.close()
  })
})
