import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ANNA, addSender, BEN, type Sender } from '../../../../test/conformance/storage-world.ts'
import {
  ACCEPTED,
  type DispatchWorld,
  openDispatchWorld,
  type TestWorker,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'

const OTHER = '15550100001'

let world: DispatchWorld
let sender: Sender
let anna: TestWorker
/** How often Anna has fetched waiting messages. */
let reads: number

beforeEach(async () => {
  world = await openDispatchWorld()
  sender = await addSender(world.storage)
  reads = 0
  const { lanes } = world.storage
  const counting = overrideLanes(lanes, {
    fetchNext(connectionId, limit, after) {
      reads += 1
      return lanes.fetchNext(connectionId, limit, after)
    },
  })
  anna = await world.startWorker(ANNA, { lanes: counting })
  await world.acceptAt(anna, sender, 'first')
  await world.pass(100)
  return () => world.close()
})

describe('a message that was accepted in the process of its lane', () => {
  it('is sent without a fetch', async () => {
    reads = 0

    const answers = [await world.acceptAt(anna, sender, 'second'), await world.acceptAt(anna, sender, 'third')]
    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second', 'anna: third'])
    assert.deepEqual(answers, [true, true])
    assert.equal(reads, 0)
  })

  it('is sent without a fetch after any number that came while another was being sent', async () => {
    world.answer = ({ text }) => (text === 'slow' ? null : ACCEPTED)
    await world.acceptAt(anna, sender, 'slow')
    await world.pass(100)
    reads = 0
    const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`)

    for (const text of texts) await world.acceptAt(anna, sender, text)
    world.callOf('slow').end(ACCEPTED)
    for (let second = 0; second < 20 && world.sent.length < 102; second += 1) await world.pass(1_000)

    assert.deepEqual(
      world.sent.slice(2),
      texts.map((text) => `anna: ${text}`),
    )
    // The first are known, and the rest takes one fetch for each chunk.
    assert.ok(reads <= 4, `${reads} fetches`)
  })

  it('G3: comes after what another process has accepted before without a notification', async () => {
    await world.accept(sender, 'second')
    await world.acceptAt(anna, sender, 'third')
    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second', 'anna: third'])
  })

  it('G3: comes after it, also when both came while a call was under way', async () => {
    world.answer = ({ text }) => (text === 'slow' ? null : ACCEPTED)
    await world.acceptAt(anna, sender, 'slow')
    await world.pass(100)
    await world.accept(sender, 'second')
    await world.acceptAt(anna, sender, 'third')
    world.callOf('slow').end(ACCEPTED)
    await world.pass(100)

    assert.deepEqual(world.sent.slice(2), ['anna: second', 'anna: third'])
  })

  it('G3: comes after it, also when the lane has to wait first', async () => {
    const slow = await addSender(world.storage, { number: '15550001001', policy: { leastGapMs: 5_000 } })
    await world.acceptAt(anna, slow, 'one')
    await world.pass(100)
    await world.accept(slow, 'two')
    await world.acceptAt(anna, slow, 'three')
    await world.pass(20_000)

    assert.deepEqual(world.sent.slice(1), ['anna: one', 'anna: two', 'anna: three'])
  })

  it('is not waited for when another comes first that may go', async () => {
    const until = world.storage.clock.now() + 60_000
    world.delay = (to) => (to === OTHER ? { scope: 'connection', until, reason: 'rate_limited', words: null } : null)
    const third = await world.startWorker(BEN)
    const bens = await world.addSenderOf(BEN, [ANNA, BEN])
    await world.acceptAt(third, bens, 'one')
    await world.pass(100)

    await world.accept(bens, 'two')
    await world.acceptAt(third, bens, { text: 'three', to: OTHER })
    await world.pass(100)

    assert.deepEqual(world.sent.slice(1), ['ben: one', 'ben: two'])
  })

  it('is not sent when it was cancelled or its connection was paused meanwhile', async () => {
    world.answer = () => null
    await world.acceptAt(anna, sender, 'slow')
    await world.pass(100)
    await world.acceptAt(anna, sender, 'unwanted')
    const [, unwanted] = await world.storage.lanes.fetchNext(sender.connectionId, 2, 0)
    await world.storage.administration.cancelMessage(unwanted!.id, 'test')
    world.answer = () => ACCEPTED
    world.callOf('slow').end(ACCEPTED)
    await world.pass(100)
    await world.storage.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    await world.acceptAt(anna, sender, 'paused')
    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: first', 'anna: slow'])
  })

  it('is not sent here when its lane is another worker’s', async () => {
    await world.startWorker(BEN)
    await world.pass(10_000)
    const bens = await world.addSenderOf(BEN, [ANNA, BEN])

    const isHers = await world.acceptAt(anna, bens, 'for ben')
    world.notifyPeers(ANNA, bens.connectionId)
    await world.pass(100)

    assert.equal(isHers, false)
    assert.deepEqual(world.sent, ['anna: first', 'ben: for ben'])
  })
})
