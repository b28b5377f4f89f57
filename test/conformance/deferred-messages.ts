import assert from 'node:assert/strict'
import type { QueuedMessage, RetryState } from '../../src/core/message/message.ts'
import type { ClaimedLane, LaneTransition } from '../../src/core/ports/lanes.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  BEN,
  holdLane,
  KEEP,
  type NewWorld,
  open,
  type Sender,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
} from './storage-world.ts'

const CLAIM_MS = 15_000

/** What storage promises about messages that wait for something of their own while their lane continues. */
export function deferredMessagesKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G3: reads the messages of a lane after a position, in order', async () => {
    const { world, sender, messages } = await laneOf(newWorld, 5)
    const [, two, three, four] = messages

    const behind = await world.lanes.fetchNext(sender.connectionId, 2, two!.sequence)

    assert.deepEqual(sequences(behind), sequences([three!, four!]))
    assert.deepEqual(await world.lanes.fetchNext(sender.connectionId, 9, messages.at(-1)!.sequence), [])
    await world.close()
  })

  it('G3: starts a message behind deferred ones, but not if an unknown one waits in between', async () => {
    const { world, lane, messages } = await laneOf(newWorld, 4)
    const [, two, three, four] = messages
    const start = (message: QueuedMessage, known: QueuedMessage, finish?: QueuedMessage) => ({
      start: { sequence: message.sequence, number: 1, knownThrough: known.sequence },
      ...(finish && { finish: settled(world, finish) }),
    })

    const results = [
      await world.lanes.record(step(world, lane, start(four!, two!))),
      await world.lanes.record(step(world, lane, start(three!, two!))),
      await world.lanes.record(step(world, lane, start(four!, two!, three))),
    ]

    assert.deepEqual(
      results.map((result) => !result.fenced && result.started),
      [false, true, true],
    )
    await world.close()
  })

  it('keeps the retry state of a message that stays queued, over a takeover, until it is final', async () => {
    const { world, sender, lane, messages } = await laneOf(newWorld, 1)
    const [message] = messages as [QueuedMessage]
    const retry = retryOf(world)
    await open(world, lane, message)
    const keep = { attempt: attempt(world, message, 'rejected'), disposition: { ...KEEP, retry } }
    await world.lanes.record(step(world, lane, { finish: keep, start: { sequence: message.sequence, number: 2 } }))

    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)
    const again = { ...message, attempts: 1 }
    const kept = {
      attempt: attempt(world, again, 'rejected'),
      disposition: { ...KEEP, retry: his.open!.message.retry },
    }
    await world.lanes.record(step(world, his, { finish: kept }))

    assert.deepEqual(his.open?.message.retry, retry)
    assert.deepEqual((await read(world, sender))[0]?.retry, retry)
    await world.close()
  })

  it('stores waits of messages in the same step as the end of one attempt and the start of another', async () => {
    const { world, sender, lane, messages } = await laneOf(newWorld, 4)
    const [one, two, three, four] = messages as [QueuedMessage, QueuedMessage, QueuedMessage, QueuedMessage]
    await open(world, lane, one)
    const deferred = [two, three].map(({ sequence }, tries) => ({ sequence, retry: { ...retryOf(world), tries } }))

    const result = await world.lanes.record(
      step(world, lane, { finish: settled(world, one), deferred, start: { sequence: four.sequence, number: 1 } }),
    )

    assert.deepEqual(result, { fenced: false, started: true })
    const found = await read(world, sender)
    assert.deepEqual(
      found.map(({ retry }) => retry),
      [...deferred.map(({ retry }) => retry), null],
    )
    await world.close()
  })

  it('G6: writes no wait if another worker has the lane, whatever else the step does', async () => {
    const { world, sender, lane, messages } = await laneOf(newWorld, 2)
    const [one, two] = messages as [QueuedMessage, QueuedMessage]
    await open(world, lane, one)
    await world.clock.pass(CLAIM_MS)
    await holdLane(world, BEN, sender.connectionId)
    const deferred = [{ sequence: two.sequence, retry: retryOf(world) }]
    const keep = { attempt: attempt(world, one, 'rejected'), disposition: { ...KEEP, retry: retryOf(world) } }
    const late: Partial<LaneTransition>[] = [
      { deferred },
      { deferred, finish: keep },
      { deferred, start: { sequence: two.sequence, number: 1 } },
    ]

    const results = []
    for (const does of late) results.push(await world.lanes.record(step(world, lane, does)))

    assert.deepEqual(results, Array(3).fill({ fenced: true }))
    assert.deepEqual(
      (await read(world, sender)).map(({ retry }) => retry),
      [null, null],
    )
    await world.close()
  })

  it('writes no wait of a message that no longer waits', async () => {
    const { world, sender, lane, messages, ids } = await laneOf(newWorld, 2)
    const [one] = messages as [QueuedMessage, QueuedMessage]
    await world.administration.cancelMessage(ids[0]!, 'test')

    const deferred = [{ sequence: one.sequence, retry: retryOf(world) }]
    const result = await world.lanes.record(step(world, lane, { deferred }))

    assert.deepEqual(result, { fenced: false, started: false })
    assert.equal(await stateOf(world, ids[0]!), 'CANCELLED')
    assert.deepEqual(sequences(await read(world, sender)), sequences(messages.slice(1)))
    await world.close()
  })

  it('G3: loses no deferred message in a part of the lane that was passed, nor one that stays queued', async () => {
    const { world, sender, lane, messages } = await laneOf(newWorld, 4)
    const [one, two, three, four] = messages as [QueuedMessage, QueuedMessage, QueuedMessage, QueuedMessage]
    await open(world, lane, two)
    const close = { finish: settled(world, two), start: { sequence: three.sequence, number: 1 } }
    await world.lanes.record(step(world, lane, close))
    const keep = { attempt: attempt(world, three, 'rejected'), disposition: KEEP }
    const passed = [{ after: 0, through: three.sequence, deferred: sequences([one, three]) }]
    await world.lanes.record(step(world, lane, { finish: keep, passed }))

    const now = sequences(await read(world, sender))
    await world.clock.pass(1_000)
    const single = await world.lanes.fetchNext(sender.connectionId, 1, one.sequence - 1)

    assert.deepEqual(now, sequences([one, three, four]))
    assert.deepEqual(sequences(single), [one.sequence])
    assert.deepEqual(sequences(await read(world, sender)), sequences([one, three, four]))
    await world.close()
  })

  it('stores when an attempt began if the step says so', async () => {
    const { world, sender, lane, messages } = await laneOf(newWorld, 2)
    const [one, two] = messages as [QueuedMessage, QueuedMessage]
    await open(world, lane, one)
    const before = (await world.lanes.inspect(lane))?.lastAttemptAt
    const start = { sequence: two.sequence, number: 1 }
    await world.lanes.record(step(world, lane, { finish: settled(world, one), start, notesAttempt: true }))
    const at = world.clock.now()

    await world.clock.pass(CLAIM_MS)

    assert.deepEqual([before, (await holdLane(world, BEN, sender.connectionId)).lastAttemptAt], [null, at])
    await world.close()
  })
}

interface HeldLane {
  readonly world: StorageWorld
  readonly sender: Sender
  readonly lane: ClaimedLane
  readonly messages: readonly QueuedMessage[]
  readonly ids: readonly QueuedMessage['id'][]
}

async function laneOf(newWorld: NewWorld, count: number): Promise<HeldLane> {
  const world = await newWorld()
  const sender = await addSender(world)
  const ids = []
  for (let at = 0; at < count; at++) ids.push(await accept(world, sender, { text: `${at}` }))
  const lane = await holdLane(world, ANNA, sender.connectionId)
  return { world, sender, lane, messages: await read(world, sender), ids }
}

function read(world: StorageWorld, { connectionId }: Sender): Promise<readonly QueuedMessage[]> {
  return world.lanes.fetchNext(connectionId, 10, 0)
}

function retryOf(world: StorageWorld): RetryState {
  const wait = { kind: 'retry', reason: 'retrying', words: 'busy', until: world.clock.now() + 5_000 } as const
  return { tries: 3, resent: true, crashes: 1, wait }
}

function sequences(messages: readonly QueuedMessage[]): number[] {
  return messages.map(({ sequence }) => sequence)
}
