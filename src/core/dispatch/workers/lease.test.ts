import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../../test/conformance/hand-clock.ts'
import type { WorkerId } from '../../ids.ts'
import type { Journal } from '../../ports/journal.ts'
import { type Lanes, StorageUnavailable } from '../../ports/lanes.ts'
import { CLAIM_LASTS_MS, RENEW_EVERY_MS, WorkerLease } from './lease.ts'

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
    assert.ok(beats.every((lastsMs) => lastsMs === CLAIM_LASTS_MS))
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

  it('G6: is by the machine’s own clocks alone, whatever becomes of the time that all agree on', async () => {
    const { claim, clock, storage } = createClaim()
    await claim.start()
    clock.setNow(2 * DAY)
    const ahead = claim.holds()

    clock.setNow(-4 * DAY)
    storage.isAway = true
    await clock.pass(CLAIM_LASTS_MS - MARGIN_MS)

    assert.deepEqual([ahead, claim.holds()], [true, false])
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
    void claim.stop()
    await settle()

    assert.deepEqual([whileAway, whileHeld, went], [[], ['first'], ['first', 'second']])
    assert.equal(claim.holds(), false)
  })

  it('beats no more once it has stopped', async () => {
    const { claim, clock, beats } = createClaim()
    await claim.start()
    await claim.stop()

    await clock.pass(60_000)

    assert.equal(beats.length, 1)
    assert.equal(clock.timers, 0)
  })

  it('has stopped only when no heartbeat is on its way, which would bring a retired worker back', async () => {
    const { claim, clock, storage } = createClaim()
    await claim.start()
    storage.answersAfterMs = 5_000
    await clock.pass(RENEW_EVERY_MS)
    let hasStopped = false

    void claim.stop().then(() => {
      hasStopped = true
    })
    await clock.pass(4_999)
    const before = hasStopped
    await clock.pass(1)

    assert.deepEqual([before, hasStopped, claim.holds()], [false, true, false])
  })

  it('knows who lives from the last heartbeat, and tells before anybody goes on', async () => {
    const { claim, clock, storage, told } = createClaim()
    const before = claim.living
    const started = claim.start()
    void claim.held().then(() => told.push(['goes on']))
    await started
    await settle()
    storage.living = ['anna', 'ben'] as WorkerId[]
    await clock.pass(RENEW_EVERY_MS)
    storage.isAway = true
    await clock.pass(RENEW_EVERY_MS)

    assert.deepEqual(before, [])
    assert.deepEqual(told, [['anna'], ['goes on'], ['anna', 'ben']])
    assert.deepEqual(claim.living, ['anna', 'ben'])
  })
})

function createClaim() {
  const clock = new HandClock()
  const beats: number[] = []
  const storage = { isAway: false, answersAfterMs: 0, living: ['anna'] as WorkerId[] }
  const lanes: Pick<Lanes, 'heartbeat'> = {
    async heartbeat(_, lastsMs) {
      beats.push(lastsMs)
      if (storage.answersAfterMs > 0) await new Promise<void>((resolve) => clock.after(storage.answersAfterMs, resolve))
      if (storage.isAway) throw new StorageUnavailable('away', false)
      return storage.living
    },
  }
  const journal: Journal = { record: () => {} }
  const told: string[][] = []
  const claim = new WorkerLease({
    lanes: lanes as Lanes,
    clock,
    journal,
    worker: 'anna' as WorkerId,
    onRenewed: (living) => told.push([...living]),
  })
  return { claim, clock, beats, storage, told }
}
