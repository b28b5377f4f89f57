import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, BEN, RECIPIENT, stateOf } from '../../../../test/conformance/storage-world.ts'
import { messageWithAttempts, openImageLane, reasonOf } from '../../../../test/support/dispatch-world/image-lane.ts'
import { BOTH, openDispatchWorld, READY } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { RateLimitDelay } from '../../ports/channel.ts'
import type { Lanes } from '../../ports/lanes.ts'

const MINUTE = 60_000

describe('a message that the network’s rate limit delays', () => {
  it('G10: waits with the reason and the words of the channel until then, without an attempt', async () => {
    const { world, id } = await openRest()
    const until = world.storage.clock.now() + MINUTE
    world.delay = (_, now) => (now < until ? delay(until) : null)
    await world.startWorker(ANNA)
    await world.pass(50_000)
    const { laneWait } = await world.storage.administration.explainMessage(id)
    const before = [...world.sent]

    await world.pass(10_100)

    assert.deepEqual(laneWait, { reason: 'rate_limited', words: 'at most 10 in a minute', until })
    assert.deepEqual(before, [])
    assert.deepEqual(world.sent, ['anna: first'])
    assert.equal((await messageWithAttempts(world, id)).attempts, 1)
    await world.close()
  })

  it('goes as soon as the channel says so, whatever it said before', async () => {
    const { world } = await openRest()
    let isOver = false
    world.delay = (_, now) => (isOver ? null : delay(now + 30 * MINUTE))
    await world.startWorker(ANNA)
    await world.pass(MINUTE)

    isOver = true
    await world.pass(15_100)

    assert.deepEqual(world.sent, ['anna: first'])
    await world.close()
  })

  it('does not hold the message after it, once it is cancelled', async () => {
    const { world, sender, id } = await openRest()
    await world.accept(sender, 'second')
    let isCancelled = false
    const until = world.storage.clock.now() + 30 * MINUTE
    world.delay = () => (isCancelled ? null : delay(until))
    const anna = await world.startWorker(ANNA)
    await world.pass(MINUTE)

    await world.storage.administration.cancelMessage(id, 'test')
    isCancelled = true
    anna.dispatcher.change([sender.connectionId])
    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: second'])
    await world.close()
  })

  it('is asked about with its recipient, right before each attempt', async () => {
    const { world, sender } = await openRest()
    await world.accept(sender, 'second')
    const asked: string[] = []
    world.delay = (to) => {
      asked.push(`${to} after ${world.calls.length}`)
      return null
    }
    await world.startWorker(ANNA)

    await world.pass(1_000)

    assert.deepEqual(asked, [`${RECIPIENT} after 0`, `${RECIPIENT} after 1`])
    await world.close()
  })

  it('is prepared before the channel is asked about it', async () => {
    const { world } = await openImageLane(['first'])
    const order: string[] = []
    world.ready = () => {
      order.push('ready')
      return READY
    }
    world.delay = () => {
      order.push('delay')
      return null
    }
    await world.startWorker(ANNA)

    await world.pass(1_000)

    assert.deepEqual(order, ['ready', 'delay'])
    await world.close()
  })

  it('is asked about only when nothing else delays it', async () => {
    const { world, sender } = await openRest({ leastGapMs: 5 * MINUTE })
    let asked = 0
    world.delay = () => {
      asked += 1
      return null
    }
    await world.startWorker(ANNA)
    await world.pass(100)
    await world.accept(sender, 'second')

    await world.pass(4 * MINUTE)

    assert.equal(asked, 1)
    await world.close()
  })

  it('is sent when the channel throws about it, and a fault is recorded', async () => {
    const { world } = await openRest()
    world.delay = () => {
      throw new Error('a fault of the channel')
    }
    await world.startWorker(ANNA)

    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: first'])
    assert.equal(world.eventsOf(ANNA, 'fault').length, 1)
    await world.close()
  })

  it('stops with its worker at once, and the next worker keeps to what was said', async () => {
    const { world, id } = await openRest()
    world.delay = (_, now) => delay(now + 30 * MINUTE)
    const anna = await world.startWorker(ANNA)
    await world.pass(100)

    let hasStopped = false
    void anna.dispatcher.stop(5 * MINUTE).then(() => {
      hasStopped = true
    })
    await world.pass(100)
    world.delay = () => null
    await world.startWorker(BEN)
    await world.pass(MINUTE)

    assert.equal(hasStopped, true)
    assert.equal(await stateOf(world.storage, id), 'QUEUED')
    assert.equal(await reasonOf(world, id), 'rate_limited')
    await world.pass(30 * MINUTE)
    assert.deepEqual(world.sent, ['ben: first'])
    await world.close()
  })

  it('waits without reading storage, because the reason is known', async () => {
    const { world, sender } = await openRest()
    await world.accept(sender, 'second')
    const until = world.storage.clock.now() + 6_000
    world.delay = (_, now) => (world.calls.length === 1 && now < until ? delay(until) : null)
    let reads = 0
    const { lanes } = world.storage
    const inspect: Lanes['inspect'] = (lane) => {
      reads += 1
      return lanes.inspect(lane)
    }
    await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { inspect }) })

    await world.pass(20_000)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second'])
    assert.equal(reads, 0)
    await world.close()
  })
})

async function openRest(policy: Partial<LanePolicy> = {}) {
  const world = await openDispatchWorld()
  world.delay = () => null
  const sender = await world.addSenderOf(ANNA, BOTH, policy)
  const id = await world.accept(sender, 'first')
  return { world, sender, id }
}

function delay(until: number): RateLimitDelay {
  return { scope: 'connection', until, reason: 'rate_limited', words: 'at most 10 in a minute' }
}
