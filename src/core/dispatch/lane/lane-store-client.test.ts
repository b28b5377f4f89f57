import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { ANNA, BEN, stateOf, timelineOf } from '../../../../test/conformance/storage-world.ts'
import {
  ACCEPTED,
  BOTH,
  type DispatchWorld,
  openDispatchWorld,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { cuttable, overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import type { MessageId } from '../../ids.ts'
import { InterruptibleSleep } from '../../interruptible-sleep.ts'
import {
  type ClaimedLane,
  type Lanes,
  type LaneTransition,
  type LaneTransitionResult,
  type OpenAttempt,
  StorageUnavailable,
} from '../../ports/lanes.ts'
import { LaneStoreClient } from './lane-store-client.ts'

describe('a transition whose answer was lost', () => {
  it('G4 G5: is resolved by the open attempt, so that the attempt it started is called, and called once', async () => {
    const { world, sender, ids } = await openOneLane(['first', 'second', 'third'])
    const lanes = losingAnswers(world, (step) => step.finish !== null && step.start !== null)
    await world.startWorker(ANNA, { lanes })

    await world.pass(5_000)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second', 'anna: third'])
    const timelines = await Promise.all(ids.map((id) => timelineOf(world.storage, id)))
    assert.deepEqual(new Set(timelines.map(String)), new Set(['accepted,attempt-begun,attempt-accepted,settled']))
    assert.equal(world.eventsOf(ANNA, 'lane.claimed').length, 1, `${sender.connectionId} was claimed again`)
    await world.close()
  })

  it('goes on after a transition that started nothing', async () => {
    const { world, sender } = await openOneLane(['first'])
    const lanes = losingAnswers(world, (step) => step.finish !== null)
    const anna = await world.startWorker(ANNA, { lanes })
    await world.pass(1_000)

    await world.accept(sender, 'second')
    anna.dispatcher.wake(sender.connectionId)
    await world.pass(1_000)

    assert.deepEqual(world.sent, ['anna: first', 'anna: second'])
    assert.equal(world.eventsOf(ANNA, 'lane.claimed').length, 1)
    await world.close()
  })

  it('started nothing when the connection was paused, and the lane is released', async () => {
    const { world, sender, ids } = await openOneLane(['first', 'second'])
    const lanes = losingAnswers(world, (step) => step.finish !== null)
    world.answer = () => null
    const anna = await world.startWorker(ANNA, { lanes })
    await world.pass(100)
    await world.storage.administration.setConnectionState(sender.connectionId, 'paused', 'test')

    world.callOf('first').end(ACCEPTED)
    await world.pass(2_000)

    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world.storage, id))), ['PUBLISHED', 'QUEUED'])
    assert.equal(anna.dispatcher.laneCount, 0)
    assert.deepEqual(world.eventsOf(ANNA, 'fault'), [])
    await world.close()
  })

  it('G4: calls the attempt that it started, though the connection was paused before the retry', async () => {
    const { world, sender, ids } = await openOneLane(['first', 'second'])
    const pause = () => world.storage.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    const lanes = losingAnswers(world, (step) => step.start !== null, pause)
    await world.startWorker(ANNA, { lanes })

    await world.pass(5_000)

    assert.deepEqual(world.sent, ['anna: first'])
    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world.storage, id))), ['PUBLISHED', 'QUEUED'])
    assert.deepEqual(world.eventsOf(ANNA, 'attempt.recovered'), [])
    await world.close()
  })

  it('G6: is fenced once another worker has the lane', async () => {
    const { world, ids } = await openOneLane(['first', 'second'])
    const line = { isCut: false }
    const lanes = cuttable(
      losingAnswers(world, (step) => {
        line.isCut ||= step.finish !== null
        return step.finish !== null
      }),
      line,
    )
    await world.startWorker(ANNA, { lanes })
    await world.pass(100)
    await world.startWorker(BEN)
    await world.pass(30_000)
    const [taken] = world.eventsOf(BEN, 'attempt.recovered')

    line.isCut = false
    await world.pass(10_000)

    assert.ok(taken)
    assert.deepEqual(world.sent, ['anna: first'])
    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world.storage, id))), ['PUBLISHED', 'UNCONFIRMED'])
    await world.close()
  })
})

describe('an open attempt that storage has hidden from its lane', () => {
  it('is found, and delays its lane no more than one of a worker that died', async () => {
    const { world, ids } = await openOneLane(['first', 'second'])
    let isHidden = true
    const record = async (step: LaneTransition): Promise<LaneTransitionResult> => {
      const result = await world.storage.lanes.record(step)
      if (!isHidden || !step.start) return result
      isHidden = false
      return { fenced: false, started: false }
    }
    await world.startWorker(ANNA, { lanes: overrideLanes(world.storage.lanes, { record }) })

    await world.pass(30_000)

    assert.deepEqual(world.sent, ['anna: second'])
    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world.storage, id))), ['UNCONFIRMED', 'PUBLISHED'])
    assert.equal(world.eventsOf(ANNA, 'attempt.recovered').length, 1)
    await world.close()
  })
})

describe('an answer that may be to a transition that was written before', () => {
  const OPEN = { message: { sequence: 2 }, number: 1 } as unknown as OpenAttempt
  const lost = new StorageUnavailable('the line broke', true)
  const away = new StorageUnavailable('away', false)
  const FENCED: LaneTransitionResult = { fenced: true }
  const NOT_OPENED: LaneTransitionResult = { fenced: false, started: false }

  const cases: Readonly<
    Record<string, { answers: Answer[]; open: OpenAttempt | null; comesTo: LaneTransitionResult }>
  > = {
    'fenced, after a lost one, means opened if what the step opens is open': {
      answers: [lost, away, FENCED],
      open: OPEN,
      comesTo: { fenced: false, started: true },
    },
    'fenced, after a lost one, means written if nothing is open': {
      answers: [lost, FENCED],
      open: null,
      comesTo: { fenced: false, started: false },
    },
    'fenced stays so if something else is open': {
      answers: [lost, FENCED],
      open: { ...OPEN, number: 2 },
      comesTo: FENCED,
    },
    'fenced stays so if no answer before was lost': { answers: [away, FENCED], open: OPEN, comesTo: FENCED },
    'not opened, after a lost one, means opened if what the step opens is open': {
      answers: [lost, NOT_OPENED],
      open: OPEN,
      comesTo: { fenced: false, started: true },
    },
    'not opened, after a lost one, stays so if nothing is open': {
      answers: [lost, NOT_OPENED],
      open: null,
      comesTo: NOT_OPENED,
    },
    'not opened stays so if no answer before was lost': {
      answers: [away, NOT_OPENED],
      open: OPEN,
      comesTo: NOT_OPENED,
    },
  }

  it.each(Object.entries(cases))('G6: %s', async (_, { answers, open, comesTo }) => {
    assert.deepEqual(await recordOnce(answers, { open }), comesTo)
  })

  it('G6: fenced stays so if the lane is another’s', async () => {
    assert.deepEqual(await recordOnce([lost, FENCED], null), FENCED)
  })
})

type Answer = StorageUnavailable | LaneTransitionResult

async function recordOnce(answers: readonly Answer[], lane: { open: OpenAttempt | null } | null) {
  const clock = new HandClock()
  const left = [...answers]
  const lanes: Pick<Lanes, 'record' | 'inspect'> = {
    async record() {
      const answer = left.shift()
      if (!answer || answer instanceof Error) throw answer ?? new Error('asked too often')
      return answer
    },
    inspect: () => Promise.resolve(lane as ClaimedLane | null),
  }
  const journal = { record: () => {} }
  const storage = new LaneStoreClient({
    lanes: lanes as Lanes,
    journal,
    sleeper: new InterruptibleSleep(clock),
    ending: () => null,
  })
  const recorded = storage.record({ finish: {}, start: { sequence: 2, number: 1 } } as LaneTransition)
  await clock.pass(5_000)
  return recorded
}

async function openOneLane(texts: readonly string[]) {
  const world = await openDispatchWorld()
  const sender = await world.addSenderOf(ANNA, BOTH)
  const ids: MessageId[] = []
  for (const text of texts) ids.push(await world.accept(sender, text))
  return { world, sender, ids }
}

/** The first transition that matches is committed, and its answer is lost. */
function losingAnswers(
  { storage }: DispatchWorld,
  matches: (step: LaneTransition) => boolean,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Lanes {
  let isLost = false
  return overrideLanes(storage.lanes, {
    async record(step) {
      const result = await storage.lanes.record(step)
      if (isLost || !matches(step)) return result
      isLost = true
      await meanwhile()
      throw new StorageUnavailable('the line broke', true)
    },
  })
}
