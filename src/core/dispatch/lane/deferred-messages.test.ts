import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ANNA, accept, addSender, BEN, head, type Sender, stateOf } from '../../../../test/conformance/storage-world.ts'
import {
  ACCEPTED,
  type DispatchWorld,
  openDispatchWorld,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import type { MessageId } from '../../ids.ts'
import type { Outcome } from '../../ports/channel.ts'

const X = '15550100001'
const Y = '15550100002'
const Z = '15550100003'
const BUSY: Outcome = {
  kind: 'rejected',
  failure: { class: 'transient', code: 'busy', words: 'busy', suspectsNetwork: false, retryAfterMs: 5_000 },
}

let world: DispatchWorld
let sender: Sender

beforeEach(async () => {
  world = await openDispatchWorld()
  sender = await addSender(world.storage)
  return () => world.close()
})

describe('a message that waits for something of its own', () => {
  it('G3: steps aside until its next try, with later ones to its recipient', async () => {
    world.answer = ({ text, number }) => (text === 'x1' && number === 1 ? BUSY : ACCEPTED)
    const ids = await acceptAll([X, 'x1'], [Y, 'y1'], [X, 'x2'], [Y, 'y2'])
    await world.startWorker(ANNA)

    await world.pass(1_000)
    const [sent, waiting] = [world.sent, await reasonsOf(ids)]
    await world.pass(5_000)

    assert.deepEqual(sent, ['anna: x1', 'anna: y1', 'anna: y2'])
    assert.deepEqual(waiting, ['retrying', null, 'behind_others', null])
    assert.deepEqual(world.sent.slice(3), ['anna: x1 #2', 'anna: x2'])
  })

  it('is taken before anything younger once its wait is over', async () => {
    let [isBusy, hangs] = [true, false]
    world.answer = ({ text }) => (text === 'y1' && hangs ? null : text === 'x1' && isBusy ? BUSY : ACCEPTED)
    await acceptAll([X, 'x1'])
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)
    ;[isBusy, hangs] = [false, true]
    for (const text of ['y1', 'y2']) await world.acceptAt(anna, sender, { text, to: Y })
    await world.pass(10_000)

    world.callOf('y1').end(ACCEPTED)
    await world.pass(1_000)

    assert.deepEqual(world.sent, ['anna: x1', 'anna: y1', 'anna: x1 #2', 'anna: y2'])
  })

  it('goes on as soon as its file is there, and another message that is accepted meanwhile at once', async () => {
    const id = await accept(world.storage, sender, { text: 'image', to: X, media: true })
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)
    const { reason } = (await world.storage.administration.explainMessage(id)).message
    await world.acceptAt(anna, sender, { text: 'x2', to: X })
    await world.acceptAt(anna, sender, { text: 'y1', to: Y })
    await world.pass(100)
    const sent = world.sent

    const { sequence } = await head(world.storage, sender.connectionId)
    const file = { path: 'spool/1', sizeBytes: 1, sha256: '00', mime: 'image/png' }
    await world.storage.mediaQueue.ready(sequence, { file, tookMs: 1, at: world.storage.clock.now() })
    anna.dispatcher.mediaSettled(sender.connectionId, sequence)
    await world.pass(100)

    assert.equal(reason, 'media_pending')
    assert.deepEqual(sent, ['anna: y1'])
    assert.deepEqual(world.sent.slice(1), ['anna: image', 'anna: x2'])
  })

  it('is checked once a minute when the notification of its file is lost', async () => {
    await accept(world.storage, sender, { text: 'image', to: X, media: true })
    await world.startWorker(ANNA)
    await world.pass(1_000)
    const { sequence } = await head(world.storage, sender.connectionId)
    const file = { path: 'spool/1', sizeBytes: 1, sha256: '00', mime: 'image/png' }
    await world.storage.mediaQueue.ready(sequence, { file, tookMs: 1, at: world.storage.clock.now() })

    await world.pass(61_000)

    assert.deepEqual(world.sent, ['anna: image'])
  })

  it('G3: is not passed over unseen when it lies between what was accepted here', async () => {
    world.answer = ({ text, number }) => (text === 'x1' && number === 1 ? BUSY : ACCEPTED)
    const anna = await world.startWorker(ANNA)
    await world.acceptAt(anna, sender, { text: 'x1', to: X })
    await world.pass(100)
    // Accepted by another process, without a notification.
    const [unseen] = await acceptAll([Z, 'z1'])
    await world.acceptAt(anna, sender, { text: 'x2', to: X })
    await world.acceptAt(anna, sender, { text: 'y1', to: Y })

    await world.pass(1_000)

    assert.deepEqual(world.sent, ['anna: x1', 'anna: z1', 'anna: y1'])
    assert.equal(await stateOf(world.storage, unseen!), 'PUBLISHED')
    await world.pass(5_000)
    assert.deepEqual(world.sent.slice(3), ['anna: x1 #2', 'anna: x2'])
  })

  it('frees those behind it when a person cancels it', async () => {
    world.answer = ({ text }) => (text === 'x1' ? BUSY : ACCEPTED)
    const [first] = await acceptAll([X, 'x1'], [X, 'x2'])
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)

    await world.storage.administration.cancelMessage(first!, 'test')
    anna.dispatcher.change([sender.connectionId])
    await world.pass(100)

    assert.deepEqual(world.sent, ['anna: x1', 'anna: x2'])
  })

  it('keeps its tries and its wait over a takeover, while others go on', async () => {
    world.answer = ({ text, number }) => (text === 'x1' && number < 3 ? BUSY : ACCEPTED)
    const [first] = await acceptAll([X, 'x1'])
    const anna = await world.startWorker(ANNA)
    await world.pass(100)
    await anna.dispatcher.stop(0)
    const ben = await world.startWorker(BEN)
    await world.acceptAt(ben, sender, { text: 'y1', to: Y })
    await world.pass(1_000)
    const sent = world.sent
    await world.pass(15_000)

    assert.deepEqual(sent, ['anna: x1', 'ben: y1'])
    assert.deepEqual(world.sent.slice(2), ['ben: x1 #2', 'ben: x1 #3'])
    assert.equal(await stateOf(world.storage, first!), 'PUBLISHED')
  })

  it('fails after nine tries, and never holds up another recipient', async () => {
    world.answer = ({ text }) => (text.startsWith('x') ? BUSY : ACCEPTED)
    const [first] = await acceptAll([X, 'x1'], ...Array.from({ length: 40 }, (_, at) => [Y, `y${at}`] as const))
    await world.startWorker(ANNA)

    await world.pass(2_000)
    const early = world.sent.length
    await world.pass(60_000)

    const { message, reasonWords } = await world.storage.administration.explainMessage(first!)
    assert.equal(early, 41)
    assert.deepEqual([message.state, message.reason, message.attempts], ['FAILED', 'tries_used_up', 9])
    assert.equal(reasonWords, 'busy')
  })

  it('says of its lane that all wait for themselves, and notes attempts while others pass it', async () => {
    world.answer = ({ text }) => (text.startsWith('x') ? BUSY : ACCEPTED)
    await acceptAll([X, 'x1'])
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)
    const { reason } = await world.storage.administration.findConnection(sender.number, null)
    const noted = []
    for (let second = 0; second < 3; second++) {
      await world.acceptAt(anna, sender, { text: `y${second}`, to: Y })
      await world.pass(100)
      noted.push(await lastAttemptAt())
      await world.pass(900)
    }

    assert.equal(reason, 'all_deferred')
    assert.ok(noted[0] !== null)
    assert.deepEqual(noted, Array(3).fill(noted[0]))
  })
})

describe('a limit of the network for one recipient', () => {
  it('G10: defers the messages to that recipient until then, with the words of the network', async () => {
    const until = world.storage.clock.now() + 30_000
    world.delay = (to, now) =>
      to === X && now < until ? { scope: 'recipient', until, reason: 'rate_limited', words: 'slower' } : null
    const ids = await acceptAll([X, 'x1'], [Y, 'y1'], [X, 'x2'])
    await world.startWorker(ANNA)

    await world.pass(1_000)
    const [sent, timeline] = [world.sent, await world.storage.administration.explainMessage(ids[0]!)]
    await world.pass(30_000)

    assert.deepEqual(sent, ['anna: y1'])
    assert.deepEqual(timeline.laneWait, { reason: 'rate_limited', words: 'slower', until })
    assert.equal(timeline.message.reason, 'rate_limited')
    assert.deepEqual(world.sent.slice(1), ['anna: x1', 'anna: x2'])
  })
})

describe('a lane whose messages fail one after the other', () => {
  it('probes with another message each time, and does not run through its backlog', async () => {
    world.answer = () => ({
      kind: 'rejected',
      failure: { class: 'transient', code: 'busy', words: null, suspectsNetwork: false, retryAfterMs: 600_000 },
    })
    await acceptAll(...Array.from({ length: 30 }, (_, at) => [`155501000${10 + at}`, `text ${at}`] as const))
    await world.startWorker(ANNA)

    await world.pass(1_000)

    assert.equal(world.sent.length, 10)
    assert.equal((await world.storage.administration.findConnection(sender.number, null)).reason, 'trouble')
  })
})

async function acceptAll(...letters: readonly (readonly [to: string, text: string])[]): Promise<MessageId[]> {
  const ids = []
  for (const [to, text] of letters) ids.push(await world.accept(sender, { text, to }))
  return ids
}

async function reasonsOf(ids: readonly MessageId[]): Promise<(string | null)[]> {
  const reasons = []
  for (const id of ids) reasons.push((await world.storage.administration.explainMessage(id)).message.reason)
  return reasons
}

async function lastAttemptAt(): Promise<number | null> {
  const lane = world.eventsOf(ANNA, 'lane.claimed')[0]
  assert.ok(lane?.event === 'lane.claimed')
  const { connectionId, epoch } = lane
  return (await world.storage.lanes.inspect({ connectionId, epoch }))?.lastAttemptAt ?? null
}
