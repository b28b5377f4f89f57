import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../../test/conformance/hand-clock.ts'
import type { WorkerId } from '../../ids.ts'
import type { Journal } from '../../ports/journal.ts'
import { type Lanes, StorageUnavailable } from '../../ports/lanes.ts'
import { LEASE_MS, RENEW_EVERY_MS, WorkerLease } from './lease.ts'

const MARGIN_MS = 3_000
const DAY = 24 * 3_600_000

describe('the lease of a worker', () => {
  it('G6: is held from the first heartbeat on, and is renewed before it ends', async () => {
    const { lease, clock, beats } = createLease()
    const before = lease.isHeld()
    await lease.start()

    await clock.pass(60_000)

    assert.equal(before, false)
    assert.equal(lease.isHeld(), true)
    assert.equal(beats.length, 1 + 60_000 / RENEW_EVERY_MS)
    assert.ok(beats.every((lastsMs) => lastsMs === LEASE_MS))
  })

  it('G6: ends well before others may begin when storage is away, and is held again with a new generation', async () => {
    const { lease, clock, storage } = createLease()
    await lease.start()
    const { generation } = lease
    storage.isAway = true

    await clock.pass(LEASE_MS - MARGIN_MS - 1)
    const justBefore = lease.isHeld()
    await clock.pass(1)
    const after = lease.isHeld()
    storage.isAway = false
    await clock.pass(1_000)

    assert.deepEqual([justBefore, after, lease.isHeld()], [true, false, true])
    assert.equal(lease.generation, generation + 1)
  })

  it('keeps its generation while it is renewed in time', async () => {
    const { lease, clock } = createLease()
    await lease.start()
    const { generation } = lease

    await clock.pass(10 * LEASE_MS)

    assert.equal(lease.generation, generation)
  })

  it('G6: counts from before the heartbeat, however long its answer takes', async () => {
    const { lease, clock, storage } = createLease()
    storage.answersAfterMs = 5_000
    const started = lease.start()
    await clock.pass(5_000)
    await started

    storage.isAway = true
    await clock.pass(LEASE_MS - MARGIN_MS - 5_000)

    assert.equal(lease.isHeld(), false)
  })

  it('G6: is not held after the machine was suspended, when only the wall clock has gone on', async () => {
    const { lease, clock } = createLease()
    await lease.start()

    clock.setWall(LEASE_MS)

    assert.equal(lease.isHeld(), false)
  })

  it('G6: depends on the clocks of its own machine alone, and not on the time of the database', async () => {
    const { lease, clock, storage } = createLease()
    await lease.start()
    clock.setNow(2 * DAY)
    const ahead = lease.isHeld()

    clock.setNow(-4 * DAY)
    storage.isAway = true
    await clock.pass(LEASE_MS - MARGIN_MS)

    assert.deepEqual([ahead, lease.isHeld()], [true, false])
  })

  it('G6: is not prolonged by a clock that is set back', async () => {
    const { lease, clock, storage } = createLease()
    await lease.start()
    storage.isAway = true
    clock.setWall(-2 * DAY)

    await clock.pass(LEASE_MS)

    assert.equal(lease.isHeld(), false)
  })

  it('resolves its waiters once it is held, or once the worker stops', async () => {
    const { lease, clock, storage } = createLease()
    storage.isAway = true
    await lease.start()
    const went: string[] = []
    void lease.untilHeld().then(() => went.push('first'))
    await clock.pass(3_000)
    const whileAway = [...went]

    storage.isAway = false
    await clock.pass(1_000)
    const whileHeld = [...went]
    storage.isAway = true
    await clock.pass(2 * LEASE_MS)
    void lease.untilHeld().then(() => went.push('second'))
    void lease.stop()
    await settle()

    assert.deepEqual([whileAway, whileHeld, went], [[], ['first'], ['first', 'second']])
    assert.equal(lease.isHeld(), false)
  })

  it('sends no heartbeat once it has stopped', async () => {
    const { lease, clock, beats } = createLease()
    await lease.start()
    await lease.stop()

    await clock.pass(60_000)

    assert.equal(beats.length, 1)
    assert.equal(clock.timers, 0)
  })

  it('has stopped only when no heartbeat is running, which would create a deleted lease again', async () => {
    const { lease, clock, storage } = createLease()
    await lease.start()
    storage.answersAfterMs = 5_000
    await clock.pass(RENEW_EVERY_MS)
    let hasStopped = false

    void lease.stop().then(() => {
      hasStopped = true
    })
    await clock.pass(4_999)
    const before = hasStopped
    await clock.pass(1)

    assert.deepEqual([before, hasStopped, lease.isHeld()], [false, true, false])
  })

  it('lists the living workers of the last heartbeat, and reports them before waiters go on', async () => {
    const { lease, clock, storage, calls } = createLease()
    const before = lease.members
    const started = lease.start()
    void lease.untilHeld().then(() => calls.push(['goes on']))
    await started
    await settle()
    storage.members = ['anna', 'ben'] as WorkerId[]
    await clock.pass(RENEW_EVERY_MS)
    storage.isAway = true
    await clock.pass(RENEW_EVERY_MS)

    assert.deepEqual(before, [])
    assert.deepEqual(calls, [['anna'], ['goes on'], ['anna', 'ben']])
    assert.deepEqual(lease.members, ['anna', 'ben'])
  })
})

function createLease() {
  const clock = new HandClock()
  const beats: number[] = []
  const storage = { isAway: false, answersAfterMs: 0, members: ['anna'] as WorkerId[] }
  const lanes: Pick<Lanes, 'heartbeat'> = {
    async heartbeat(_, lastsMs) {
      beats.push(lastsMs)
      if (storage.answersAfterMs > 0) await new Promise<void>((resolve) => clock.after(storage.answersAfterMs, resolve))
      if (storage.isAway) throw new StorageUnavailable('away', false)
      return storage.members
    },
  }
  const journal: Journal = { record: () => {} }
  const calls: string[][] = []
  const lease = new WorkerLease({
    lanes: lanes as Lanes,
    clock,
    journal,
    worker: 'anna' as WorkerId,
    onRenewed: (members) => calls.push([...members]),
  })
  return { lease, clock, beats, storage, calls }
}
