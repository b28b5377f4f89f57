import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import type { WorkerId } from '../ids.ts'
import type { Journal } from '../ports/journal.ts'
import { type Lanes, StorageUnavailable } from '../ports/lanes.ts'
import { CLAIM_LASTS_MS, RENEW_EVERY_MS, WorkerClaim } from './worker-claim.ts'

const MARGIN_MS = 3_000
const DAY = 24 * 3_600_000

describe('the claim of a worker', () => {
  it('G6: holds from the first heartbeat on, and is renewed before it ends', async () => {
    const { claim, clock, beats } = createClaim()
    const before = claim.holds()
    await claim.start()

    await clock.pass(60_000)

    assert.equal(before, false)
    assert.equal(claim.holds(), true)
    assert.equal(beats.length, 1 + 60_000 / RENEW_EVERY_MS)
    assert.ok(beats.every(({ now, until }) => until - now === CLAIM_LASTS_MS))
  })

  it('G6: ends well before others may begin when storage is away, and holds again with a new term', async () => {
    const { claim, clock, storage } = createClaim()
    await claim.start()
    const { term } = claim
    storage.isAway = true

    await clock.pass(CLAIM_LASTS_MS - MARGIN_MS - 1)
    const justBefore = claim.holds()
    await clock.pass(1)
    const after = claim.holds()
    storage.isAway = false
    await clock.pass(1_000)

    assert.deepEqual([justBefore, after, claim.holds()], [true, false, true])
    assert.equal(claim.term, term + 1)
  })

  it('keeps its term while it is renewed in time', async () => {
    const { claim, clock } = createClaim()
    await claim.start()
    const { term } = claim

    await clock.pass(10 * CLAIM_LASTS_MS)

    assert.equal(claim.term, term)
  })

  it('G6: counts from before the heartbeat, however long its answer takes', async () => {
    const { claim, clock, storage } = createClaim()
    storage.answersAfterMs = 5_000
    const started = claim.start()
    await clock.pass(5_000)
    await started

    storage.isAway = true
    await clock.pass(CLAIM_LASTS_MS - MARGIN_MS - 5_000)

    assert.equal(claim.holds(), false)
  })

  it('G6: does not hold after the machine was suspended, when only the wall clock has gone on', async () => {
    const { claim, clock } = createClaim()
    await claim.start()

    clock.setWall(CLAIM_LASTS_MS)

    assert.equal(claim.holds(), false)
  })

  it('G6: is not prolonged by a clock that is set back', async () => {
    const { claim, clock, storage } = createClaim()
    await claim.start()
    storage.isAway = true
    clock.setWall(-2 * DAY)

    await clock.pass(CLAIM_LASTS_MS)

    assert.equal(claim.holds(), false)
  })

  it('lets those who wait for it go on once it holds, or once the worker stops', async () => {
    const { claim, clock, storage } = createClaim()
    storage.isAway = true
    await claim.start()
    const went: string[] = []
    void claim.held().then(() => went.push('first'))
    await clock.pass(3_000)
    const whileAway = [...went]

    storage.isAway = false
    await clock.pass(1_000)
    const whileHeld = [...went]
    storage.isAway = true
    await clock.pass(2 * CLAIM_LASTS_MS)
    void claim.held().then(() => went.push('second'))
    claim.stop()
    await settle()

    assert.deepEqual([whileAway, whileHeld, went], [[], ['first'], ['first', 'second']])
    assert.equal(claim.holds(), false)
  })

  it('beats no more once it has stopped', async () => {
    const { claim, clock, beats } = createClaim()
    await claim.start()
    claim.stop()

    await clock.pass(60_000)

    assert.equal(beats.length, 1)
    assert.equal(clock.timers, 0)
  })
})

function createClaim() {
  const clock = new HandClock()
  const beats: { now: number; until: number }[] = []
  const storage = { isAway: false, answersAfterMs: 0 }
  const lanes: Pick<Lanes, 'heartbeat'> = {
    async heartbeat(_, now, until) {
      beats.push({ now, until })
      if (storage.answersAfterMs > 0) await new Promise<void>((resolve) => clock.after(storage.answersAfterMs, resolve))
      if (storage.isAway) throw new StorageUnavailable('away', false)
    },
  }
  const journal: Journal = { record: () => {} }
  const claim = new WorkerClaim({ lanes: lanes as Lanes, clock, journal, worker: 'anna' as WorkerId })
  return { claim, clock, beats, storage }
}
