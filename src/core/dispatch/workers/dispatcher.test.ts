import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, BEN, beat } from '../../../../test/conformance/storage-world.ts'
import { ACCEPTED, openTwoLanes } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import type { Lanes } from '../../ports/lanes.ts'
import { RENEW_EVERY_MS } from './lease.ts'

const MINUTE = 60_000

describe('a dispatcher', () => {
  it('claims every lane while no other worker is alive', async () => {
    const { world, annas, bens } = await openTwoLanes()
    const anna = await world.startWorker(ANNA)

    const answers = [annas, bens].map(({ connectionId }) => anna.dispatcher.wake(connectionId))
    await world.pass(100)

    assert.deepEqual(answers, [true, true])
    assert.deepEqual([...world.sent].sort(), ['anna: for anna', 'anna: for ben'])
    await world.close()
  })

  it('keeps a timer for its lanes only while it has some', async () => {
    const { world } = await openTwoLanes()
    await world.startWorker(ANNA)

    await world.pass(1_000)
    const withLanes = world.storage.clock.timers
    await world.pass(20_000)

    assert.equal(withLanes - world.storage.clock.timers, 1)
    await world.close()
  })

  it('claims no lane before it has started or after it has stopped, and returns false', async () => {
    const { world, annas } = await openTwoLanes()
    const worker = await world.startWorker(ANNA)
    await worker.dispatcher.stop(0)
    await worker.dispatcher.stop(0)

    assert.equal(worker.dispatcher.wake(annas.connectionId), false)
    await world.close()
  })

  it('claims the lanes assigned to it, and returns whether a message is for another worker', async () => {
    const { world, annas, bens } = await openTwoLanes()
    await beat(world.storage, BEN)
    const anna = await world.startWorker(ANNA)
    const ben = await world.startWorker(BEN)

    await world.pass(100)
    await world.accept(bens, 'more for ben')
    const answers = [anna, ben].map(({ dispatcher }) => dispatcher.wake(bens.connectionId))
    await world.pass(100)

    assert.deepEqual([...world.sent].sort(), ['anna: for anna', 'ben: for ben', 'ben: more for ben'])
    assert.deepEqual(answers, [false, true])
    assert.deepEqual([anna.dispatcher.wake(annas.connectionId), ben.dispatcher.wake(annas.connectionId)], [true, false])
    await world.close()
  })

  it('starves no lane of a living worker that claims none, and knows the living workers before its first claim', async () => {
    const { world } = await openTwoLanes()
    await beat(world.storage, BEN, MINUTE)
    await world.startWorker(ANNA)

    await world.pass(4_000)
    const early = [...world.sent]
    await world.pass(4_000)

    assert.deepEqual(early, ['anna: for anna'])
    assert.deepEqual(world.sent, ['anna: for anna', 'anna: for ben'])
    await world.close()
  })

  it('polls its idle lanes, in case a notification was lost, and keeps none of them for that', async () => {
    const { world, annas } = await openTwoLanes()
    const anna = await world.startWorker(ANNA, { pollEveryMs: 2_000 })
    await world.pass(1_000)
    await world.accept(annas, 'second')

    await world.pass(2_500)
    const calls = [...world.sent]
    const whileIdle = anna.dispatcher.laneCount
    await world.pass(11_000)

    assert.deepEqual(calls.slice(2), ['anna: second'])
    assert.deepEqual([whileIdle, anna.dispatcher.laneCount], [2, 0])
    await world.close()
  })

  it('G6: has the lanes of a worker that crashed claimed, and its attempts reconciled, within 20 s', async () => {
    const { world, bens } = await openTwoLanes()
    await beat(world.storage, ANNA)
    world.answer = () => null
    const ben = await world.startWorker(BEN)
    // It must not be left to the chance of a poll.
    await world.startWorker(ANNA, { pollEveryMs: 10 * MINUTE })
    // Right after a heartbeat, when its claim lasts longest.
    await world.pass(RENEW_EVERY_MS)
    ben.crash()
    world.answer = () => ACCEPTED

    await world.pass(20_000)

    const [recovered] = world.eventsOf(ANNA, 'attempt.recovered')
    assert.ok(recovered?.event === 'attempt.recovered')
    assert.equal(recovered.connectionId, bens.connectionId)
    await world.close()
  })

  it('releases each lane as it ends when it stops, without waiting for the others', async () => {
    const { world, annas, bens } = await openTwoLanes()
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)
    world.answer = ({ worker }) => (worker === ANNA ? null : ACCEPTED)
    await world.accept(annas, 'takes long')
    anna.dispatcher.wake(annas.connectionId)
    await world.pass(100)

    const stopped = anna.dispatcher.stop(25_000)
    await world.accept(bens, 'need not wait')
    await world.startWorker(BEN)
    await world.pass(7_000)
    const meanwhile = world.sent.at(-1)
    world.callOf('takes long').end(ACCEPTED)
    await world.pass(100)
    await stopped

    assert.equal(meanwhile, 'ben: need not wait')
    assert.equal(world.eventsOf(BEN, 'attempt.recovered').length, 0)
    await world.close()
  })

  it('retries a failed claim seldom, however many messages come for the lane', async () => {
    const { world, annas } = await openTwoLanes()
    const { lanes } = world.storage
    let asked = 0
    let isFree = false
    const claim: Lanes['claim'] = async (request) => {
      if (isFree) return lanes.claim(request)
      asked += 1
      return []
    }
    const anna = await world.startWorker(ANNA, { pollEveryMs: 10 * MINUTE, lanes: overrideLanes(lanes, { claim }) })

    const wakeFor = async (ms: number) => {
      const before = asked
      for (let i = 0; i < ms; i++) {
        anna.dispatcher.wake(annas.connectionId)
        await world.pass(1)
      }
      return asked - before
    }
    const atFirst = await wakeFor(90)
    const later = await wakeFor(4_000)
    isFree = true
    await wakeFor(420)

    assert.ok(atFirst >= 2 && atFirst <= 4, `asked ${atFirst} times within 90 ms`)
    assert.ok(later >= 10 && later <= 14, `asked ${later} times within 4 s`)
    assert.deepEqual(world.sent, ['anna: for anna'])
    await world.close()
  })

  it('claims a changed lane at once', async () => {
    const { world, annas } = await openTwoLanes()
    const { lanes } = world.storage
    let isFree = false
    const claim: Lanes['claim'] = async (request) => (isFree ? lanes.claim(request) : [])
    const anna = await world.startWorker(ANNA, { pollEveryMs: 10 * MINUTE, lanes: overrideLanes(lanes, { claim }) })
    anna.dispatcher.wake(annas.connectionId)
    await world.pass(1)

    isFree = true
    anna.dispatcher.change([annas.connectionId])
    await world.pass(1)

    assert.deepEqual(world.sent, ['anna: for anna'])
    await world.close()
  })

  it('gets no lease from a heartbeat that was running when it stopped', async () => {
    const { world } = await openTwoLanes()
    const { lanes, clock } = world.storage
    const heartbeat: Lanes['heartbeat'] = async (...given) => {
      const isFirst = world.events.length === 0
      if (!isFirst) await new Promise<void>((resolve) => clock.after(2_000, resolve))
      return lanes.heartbeat(...given)
    }
    const anna = await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { heartbeat }) })
    await world.pass(RENEW_EVERY_MS)

    const stopped = anna.dispatcher.stop(0)
    await world.pass(3_000)
    await stopped

    assert.deepEqual(await beat(world.storage, BEN), [BEN])
    await world.close()
  })
})
