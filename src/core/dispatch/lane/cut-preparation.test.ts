import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, BEN, beat, stateOf, timelineOf } from '../../../../test/conformance/storage-world.ts'
import { changeSender, openImageLane, uploadOf } from '../../../../test/support/dispatch-world/image-lane.ts'
import { BOTH, openDispatchWorld, READY } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { cuttable, overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import { preferredWorker } from '../../../../test/support/preferred-worker.ts'
import type { ConnectionId, WorkerId } from '../../ids.ts'
import { type Lanes, StorageUnavailable } from '../../ports/lanes.ts'
import { RENEW_EVERY_MS } from '../workers/lease.ts'

const MINUTE = 60_000
const GRACE_MS = 1_000
const SWEEP_MS = 250
const CHECK_MS = 15_000

describe('an upload that is no longer needed', () => {
  it('is aborted when the worker stops, and does not delay that', async () => {
    const { world, ids } = await openImageLane(['first'])
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    let hasStopped = false
    void anna.dispatcher.stop(5 * MINUTE).then(() => {
      hasStopped = true
    })
    await world.pass(1)

    assert.equal(hasStopped, true)
    assert.equal(uploadOf(world, 'first').signal.aborted, true)
    assert.equal(await stateOf(world.storage, ids.first), 'QUEUED')
    await world.close()
  })

  it('G6: is aborted when its lane is handed over, and the next worker does it', async () => {
    const world = await openDispatchWorld()
    world.ready = ({ worker }) => (worker === ANNA ? null : READY)
    const sender = await world.addSenderOf(BEN, BOTH)
    await world.acceptImage(sender, 'first')
    await world.startWorker(ANNA)
    await world.pass(100)

    await world.startWorker(BEN)
    await world.pass(RENEW_EVERY_MS + GRACE_MS + 1_000)

    assert.deepEqual(world.sent, ['ben: first'])
    assert.equal(world.uploads[0]?.signal.aborted, true)
    await world.close()
  })

  it.each([
    ['with a notification', true, 100],
    ['without a notification', false, CHECK_MS + GRACE_MS + 100],
  ])('is aborted when its connection is paused, %s', async (_, isNotified, withinMs) => {
    const { world, sender, ids } = await openImageLane(['first'])
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    await world.storage.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    if (isNotified) anna.dispatcher.change([sender.connectionId])
    await world.pass(withinMs)
    const { aborted } = uploadOf(world, 'first').signal
    await world.pass(5_000)

    assert.equal(aborted, true)
    assert.equal(anna.dispatcher.laneCount, 0)
    assert.equal(await stateOf(world.storage, ids.first), 'QUEUED')
    await world.close()
  })

  it.each([
    ['with a notification', true, 100],
    ['without a notification', false, CHECK_MS + 100],
  ])(
    'is aborted when its message is cancelled, %s, and later ones to its recipient go on',
    async (_, isNotified, withinMs) => {
      const { world, sender, ids } = await openImageLane(['first', 'second'])
      world.ready = ({ text }) => (text === 'first' ? null : READY)
      const anna = await world.startWorker(ANNA)
      await world.pass(100)

      await world.storage.administration.cancelMessage(ids.first, 'test')
      if (isNotified) anna.dispatcher.change([sender.connectionId])
      await world.pass(withinMs + SWEEP_MS)

      assert.equal(uploadOf(world, 'first').signal.aborted, true)
      assert.deepEqual(world.sent, ['anna: second'])
      await world.close()
    },
  )

  it('starts again with the new settings of its connection', async () => {
    const { world, sender } = await openImageLane(['first'])
    world.ready = ({ settings }) => (settings['token'] === 'new' ? READY : null)
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    await changeSender(world, sender, { channelSettings: { token: 'new' } })
    anna.dispatcher.change([sender.connectionId])
    await world.pass(GRACE_MS + 2 * SWEEP_MS)

    assert.deepEqual(world.sent, ['anna: first'])
    await world.close()
  })

  it('goes on when something else of its lane has changed', async () => {
    const { world, sender } = await openImageLane(['first'])
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    for (let i = 0; i < 5; i++) {
      await world.acceptImage(sender, `later ${i}`)
      anna.dispatcher.change([sender.connectionId])
      await world.pass(5_000)
    }

    assert.equal(uploadOf(world, 'first').signal.aborted, false)
    assert.equal(world.uploads.length, 1)
    await world.close()
  })

  it.each(['stopped', 'handed over'])('is aborted when its lane is %s during that check', async (how) => {
    const { world, sender } = await openImageLane(['first'])
    const { lanes, clock } = world.storage
    const inspect: Lanes['inspect'] = async (lane) => {
      await new Promise<void>((resolve) => clock.after(RENEW_EVERY_MS + 2_000, resolve))
      return lanes.inspect(lane)
    }
    const anna = await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { inspect }) })
    await world.pass(100)
    anna.dispatcher.change([sender.connectionId])
    await world.pass(100)

    if (how === 'stopped') void anna.dispatcher.stop(MINUTE)
    else await beat(world.storage, otherThan(sender.connectionId), MINUTE)
    await world.pass(RENEW_EVERY_MS + 2_000 + GRACE_MS + 2_000)

    assert.equal(uploadOf(world, 'first').signal.aborted, true)
    assert.equal(anna.dispatcher.laneCount, 0)
    await world.close()
  })

  it('does not start when the worker is stopped during the commit before it', async () => {
    const { world } = await openImageLane(['first'])
    const { lanes, clock } = world.storage
    const record: Lanes['record'] = async (step) => {
      await new Promise<void>((resolve) => clock.after(5_000, resolve))
      return lanes.record(step)
    }
    const anna = await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { record }) })
    await world.pass(1_000)

    void anna.dispatcher.stop(MINUTE)
    await world.pass(10_000)

    assert.deepEqual(world.uploads, [])
    await world.close()
  })
})

describe('a worker that is lost while it uploads', () => {
  it('G4 G5: leaves nothing open, so that another one simply sends the message', async () => {
    const { world, ids } = await openImageLane(['first'])
    world.ready = ({ worker }) => (worker === ANNA ? null : READY)
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    anna.crash()
    await world.startWorker(BEN)
    await world.pass(MINUTE)

    assert.deepEqual(world.sent, ['ben: first'])
    assert.equal(world.eventsOf(BEN, 'attempt.recovered').length, 0)
    const timeline = await timelineOf(world.storage, ids.first)
    assert.deepEqual(timeline, ['accepted', 'media-fetched', 'waiting', 'attempt-begun', 'attempt-accepted', 'settled'])
    await world.close()
  })

  it('G6: ends its upload when its lease expires, before another worker can begin', async () => {
    const { world } = await openImageLane(['first'])
    const line = { isCut: false }
    world.ready = ({ worker }) => {
      if (worker === BEN) assert.equal(uploadOf(world, 'first').signal.aborted, true)
      return worker === ANNA ? null : READY
    }
    await world.startWorker(ANNA, { lanes: cuttable(world.storage.lanes, line) })
    await world.pass(100)
    line.isCut = true
    await world.startWorker(BEN)
    await world.pass(MINUTE)

    line.isCut = false
    await world.pass(MINUTE)

    assert.deepEqual(
      world.uploads.map(({ worker }) => worker),
      [ANNA, BEN],
    )
    assert.deepEqual(world.sent, ['ben: first'])
    await world.close()
  })

  it('waits until its lease is held again', async () => {
    const { world } = await openImageLane(['first'])
    const { lanes } = world.storage
    let isAway = false
    let steps = 0
    const away = overrideLanes(lanes, {
      heartbeat: (...given) =>
        isAway ? Promise.reject(new StorageUnavailable('away', false)) : lanes.heartbeat(...given),
      record(step) {
        steps += 1
        return lanes.record(step)
      },
    })
    await world.startWorker(ANNA, { lanes: away })
    await world.pass(100)
    isAway = true
    await world.pass(30_000)
    const stepsMeanwhile = steps

    world.ready = () => READY
    isAway = false
    await world.pass(5_000)

    assert.equal(stepsMeanwhile, 1)
    assert.deepEqual(world.sent, ['anna: first'])
    await world.close()
  })

  it('G6: sends nothing when the upload ends after another worker had the lane', async () => {
    const { world } = await openImageLane(['first'])
    const line = { isCut: false }
    world.ready = ({ worker }) => (worker === ANNA ? null : READY)
    await world.startWorker(ANNA, { lanes: cuttable(world.storage.lanes, line) })
    await world.pass(100)
    line.isCut = true
    await world.startWorker(BEN)
    await world.pass(MINUTE)

    line.isCut = false
    uploadOf(world, 'first').end(READY)
    await world.pass(MINUTE)

    assert.deepEqual(world.sent, ['ben: first'])
    await world.close()
  })
})

/** A worker that this lane is assigned to instead of Anna. */
function otherThan(connectionId: ConnectionId): WorkerId {
  for (let i = 1; ; i++) {
    const worker = `worker ${i}` as WorkerId
    if (preferredWorker(connectionId, [ANNA, worker]) === worker) return worker
  }
}
