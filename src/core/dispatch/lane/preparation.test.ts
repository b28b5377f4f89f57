import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, stateOf, timelineOf } from '../../../../test/conformance/storage-world.ts'
import {
  changeSender,
  failed,
  failure,
  messageWithAttempts,
  noting,
  openImageLane,
  reasonOf,
  uploadOf,
} from '../../../../test/support/dispatch-world/image-lane.ts'
import { ACCEPTED, type DispatchWorld, READY } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import type { LaneTransition } from '../../ports/lanes.ts'

const MINUTE = 60_000

describe('a message that needs a preparation', () => {
  it('G4: is prepared before its attempt starts, and shows meanwhile why it waits', async () => {
    const { world, ids } = await openImageLane(['first'])
    await world.startWorker(ANNA)
    await world.pass(2 * MINUTE)
    const [meanwhile, reason] = [await stateOf(world.storage, ids.first), await reasonOf(world, ids.first)]
    const timeline = await timelineOf(world.storage, ids.first)

    uploadOf(world, 'first').end(READY)
    await world.pass(100)

    assert.deepEqual([meanwhile, reason], ['QUEUED', 'media_uploading'])
    assert.deepEqual(timeline, ['accepted', 'media-fetched'])
    assert.deepEqual(world.sent, ['anna: first'])
    assert.equal(await stateOf(world.storage, ids.first), 'PUBLISHED')
    await world.close()
  })

  it('waits from the commit that finishes the attempt before, and is prepared after that commit', async () => {
    const { world, sender } = await openImageLane([])
    const steps: LaneTransition[] = []
    let stepsBefore = 0
    world.ready = () => {
      stepsBefore = steps.length
      return null
    }
    await world.accept(sender, 'text')
    await world.acceptImage(sender, 'image')

    await world.startWorker(ANNA, { lanes: noting(world, steps) })
    await world.pass(100)

    assert.deepEqual(
      steps.map(({ finish, start: open, deferred }) => [
        finish !== null,
        open !== null,
        deferred?.map(({ retry }) => retry.wait?.reason),
      ]),
      [
        [false, true, undefined],
        [true, false, ['media_uploading']],
      ],
    )
    assert.equal(stepsBefore, 2)
    await world.close()
  })

  it('expires while it is prepared, and is neither prepared further nor sent', async () => {
    const { world, sender, ids } = await openImageLane(['first'])
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    await changeSender(world, sender, { policy: { timeToLiveMs: 42_000 } })
    anna.dispatcher.change([sender.connectionId])
    // The sweep that finds all such messages comes every five seconds: this one is found by the lane.
    await world.pass(42_020)
    const { aborted } = uploadOf(world, 'first').signal

    uploadOf(world, 'first').end(READY)
    await world.pass(20)

    assert.equal(aborted, true)
    assert.deepEqual(world.sent, [])
    assert.equal(await stateOf(world.storage, ids.first), 'EXPIRED')
    await world.close()
  })

  it('is prepared once more after a pace that lasted longer than a preparation is valid', async () => {
    const { world } = await openImageLane(['first', 'second'], { leastGapMs: 2 * MINUTE })
    world.ready = () => READY
    world.delay = (_, now) =>
      now % (4 * MINUTE) < 2 * MINUTE ? { scope: 'connection', until: now + 1_000, reason: 'pace', words: null } : null
    await world.startWorker(ANNA)

    await world.pass(8 * MINUTE)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second'])
    assert.ok(world.uploads.length > 2)
    await world.close()
  })

  it('is prepared again for another attempt', async () => {
    const { world } = await openImageLane(['first'])
    const refused = { kind: 'rejected', failure: failure('transient', 'media_not_ready') } as const
    world.ready = () => READY
    world.answer = ({ number }) => (number === 1 ? refused : ACCEPTED)
    await world.startWorker(ANNA)

    await world.pass(5_000)

    assert.deepEqual(world.sent, ['anna: first', 'anna: first #2'])
    assert.equal(world.uploads.length, 2)
    await world.close()
  })

  it('costs a text nothing: neither a call nor a commit', async () => {
    const stepsOf = async (ready: DispatchWorld['ready']) => {
      const { world, sender } = await openImageLane([])
      world.ready = ready
      for (const text of ['first', 'second', 'third']) await world.accept(sender, text)
      const steps: LaneTransition[] = []
      await world.startWorker(ANNA, { lanes: noting(world, steps) })
      await world.pass(100)
      const { length } = world.uploads
      await world.close()
      return { steps: steps.length, uploads: length }
    }

    assert.deepEqual(await stepsOf(() => READY), { steps: 4, uploads: 0 })
    assert.deepEqual(await stepsOf(undefined), { steps: 4, uploads: 0 })
  })
})

describe('preparations beside a lane', () => {
  const [X, Y, Z] = ['15550100001', '15550100002', '15550100003']

  it('G3: let messages to others go on, and hold only later ones to their recipient', async () => {
    const { world, sender } = await openImageLane([])
    await world.acceptImage(sender, { text: 'x1', to: X })
    for (const [text, to] of [
      ['x2', X],
      ['y1', Y],
      ['y2', Y],
    ] as const)
      await world.accept(sender, { text, to })
    await world.startWorker(ANNA)
    await world.pass(1_000)
    const meanwhile = world.sent

    uploadOf(world, 'x1').end(READY)
    await world.pass(100)

    assert.deepEqual(meanwhile, ['anna: y1', 'anna: y2'])
    assert.deepEqual(world.sent.slice(2), ['anna: x1', 'anna: x2'])
    await world.close()
  })

  it('are two at most, and the next begins when one of them has ended', async () => {
    const { world, sender } = await openImageLane([])
    for (const [text, to] of [
      ['x', X],
      ['y', Y],
      ['z', Z],
    ] as const)
      await world.acceptImage(sender, { text, to })
    await world.startWorker(ANNA)
    await world.pass(2 * MINUTE)
    const first = world.uploads.map(({ text }) => text)

    uploadOf(world, 'y').end(READY)
    await world.pass(100)

    assert.deepEqual(first, ['x', 'y'])
    assert.deepEqual(world.sent, ['anna: y'])
    assert.deepEqual(
      world.uploads.slice(2).map(({ text }) => text),
      ['z'],
    )
    await world.close()
  })

  it('leave the room of a cancelled message that waits for it to the next one', async () => {
    const { world, sender } = await openImageLane([])
    await world.acceptImage(sender, { text: 'x', to: X })
    await world.acceptImage(sender, { text: 'y', to: Y })
    const cancelled = await world.acceptImage(sender, { text: 'z', to: Z })
    await world.acceptImage(sender, { text: 'last', to: '15550100004' })
    await world.startWorker(ANNA)
    await world.pass(1_000)

    // Without a notification.
    await world.storage.administration.cancelMessage(cancelled, 'test')
    uploadOf(world, 'x').end(READY)
    await world.pass(1_000)

    assert.deepEqual(
      world.uploads.map(({ text }) => text),
      ['x', 'y', 'last'],
    )
    await world.close()
  })

  it('begin while an attempt of another message is open', async () => {
    const { world, sender } = await openImageLane([])
    world.answer = null
    await world.acceptImage(sender, { text: 'x', to: X })
    await world.accept(sender, { text: 'y', to: Y })
    await world.startWorker(ANNA)
    await world.pass(100)
    const { length } = world.uploads

    uploadOf(world, 'x').end(READY)
    await world.pass(1_000)
    const meanwhile = world.sent
    world.callOf('y').end(ACCEPTED)
    await world.pass(100)

    assert.equal(length, 1)
    assert.deepEqual(meanwhile, ['anna: y'])
    assert.deepEqual(world.sent, ['anna: y', 'anna: x'])
    await world.close()
  })
})

describe('a message that cannot be prepared', () => {
  it('fails with the reason and the words when it never can, without an attempt, and the lane goes on', async () => {
    const { world, ids } = await openImageLane(['first', 'second'])
    world.ready = ({ text }) => (text === 'first' ? failed('permanent', 'content_refused') : READY)
    await world.startWorker(ANNA)

    await world.pass(1_000)

    const { message, reasonWords, attempts } = await messageWithAttempts(world, ids.first)
    assert.deepEqual(
      [message.state, message.reason, reasonWords],
      ['FAILED', 'content_refused', 'words of the network'],
    )
    assert.deepEqual([message.attempts, attempts], [0, 0])
    assert.deepEqual(world.sent, ['anna: second'])
    assert.equal(world.eventsOf(ANNA, 'message.dropped').length, 1)
    await world.close()
  })

  it('waits as after a rejected attempt when the failure is temporary, and counts no attempt', async () => {
    const { world, ids } = await openImageLane(['first', 'second'])
    world.ready = () => (world.uploads.length === 1 ? failed('transient', 'busy') : READY)
    await world.startWorker(ANNA)
    await world.pass(500)
    const reason = await reasonOf(world, ids.first)

    await world.pass(5_000)

    assert.equal(reason, 'retrying')
    assert.deepEqual(world.sent, ['anna: first', 'anna: second'])
    assert.equal((await messageWithAttempts(world, ids.first)).attempts, 1)
    await world.close()
  })

  it('stops the whole lane when the connection is at fault, without counting a try', async () => {
    const { world, ids } = await openImageLane(['first', 'second'])
    world.ready = () => failed('connection', 'credentials_refused')
    await world.startWorker(ANNA)

    await world.pass(60 * MINUTE)
    const reason = await reasonOf(world, ids.first)
    world.ready = () => READY
    await world.pass(10 * MINUTE)

    assert.equal(reason, 'credentials_refused')
    assert.deepEqual(world.sent, ['anna: first', 'anna: second'])
    await world.close()
  })

  it.each([
    ['obeys the signal', true],
    ['does not obey the signal', false],
  ])('is deferred while its upload is stuck, and fails with the ninth, when it %s', async (_, obeys) => {
    const { world, ids } = await openImageLane(['first', 'second'])
    world.ready = (each) => {
      if (each.text === 'second') return READY
      if (obeys) each.signal.addEventListener('abort', () => each.end(failed('connection', 'network_error')))
      return null
    }
    await world.startWorker(ANNA)

    await world.pass(4 * MINUTE)
    const before = [await stateOf(world.storage, ids.first), world.sent]
    await world.pass(50 * MINUTE)

    const { message, reasonWords, attempts } = await messageWithAttempts(world, ids.first)
    assert.deepEqual(before, ['QUEUED', []])
    assert.deepEqual([message.state, message.reason, attempts], ['FAILED', 'tries_used_up', 0])
    assert.equal(reasonWords, 'getting it ready took longer than it may')
    assert.deepEqual(world.sent, ['anna: second'])
    await world.close()
  })

  it('is tried again when the channel throws, and records a fault', async () => {
    const { world } = await openImageLane(['first'])
    world.ready = () => {
      if (world.uploads.length === 1) throw new Error('a fault of the channel')
      return READY
    }
    await world.startWorker(ANNA)

    await world.pass(5_000)

    assert.equal(world.eventsOf(ANNA, 'fault').length, 1)
    assert.deepEqual(world.sent, ['anna: first'])
    await world.close()
  })
})
