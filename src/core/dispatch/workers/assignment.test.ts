import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { preferredWorker } from '../../../../test/support/preferred-worker.ts'
import type { ConnectionId, WorkerId } from '../../ids.ts'
import { DEFER_FOR_MS, RendezvousAssignment } from './assignment.ts'

const [ANNA, BEN, CLEO, DORA, EMIL] = ['anna', 'ben', 'cleo', 'dora', 'emil'] as WorkerId[] as [
  WorkerId,
  WorkerId,
  WorkerId,
  WorkerId,
  WorkerId,
]
const FOUR = [ANNA, BEN, CLEO, DORA]
const COUNT = 1_000

describe('the worker that a connection prefers', () => {
  const kinds: Readonly<Record<string, (index: number) => string>> = {
    'counted up': (index) => `con_${index}`,
    'made at random': randomId,
  }

  it.each(Object.entries(kinds))('is distributed evenly when ids are %s', (_, idOf) => {
    const counts = countByWorker(idsBy(idOf), FOUR)

    for (const worker of FOUR) {
      const count = counts.get(worker) ?? 0
      assert.ok(count > (COUNT / 4) * 0.8 && count < (COUNT / 4) * 1.2, `${worker} has ${count}`)
    }
  })

  it('is distributed evenly over workers whose ids differ in one character', () => {
    const workers = Array.from({ length: 8 }, (_, index) => `worker-${index}` as WorkerId)

    const counts = countByWorker(idsBy(randomId), workers)

    for (const worker of workers) assert.ok(Math.abs((counts.get(worker) ?? 0) - COUNT / 8) < (COUNT / 8) * 0.3)
  })

  it.each(Object.entries(kinds))('changes for one in five when a fifth worker comes, with ids %s', (_, idOf) => {
    const ids = idsBy(idOf)

    const moved = ids.filter((id) => preferredWorker(id, FOUR) !== preferredWorker(id, [...FOUR, EMIL]))

    assert.ok(moved.every((id) => preferredWorker(id, [...FOUR, EMIL]) === EMIL))
    assert.ok(moved.length > (COUNT / 5) * 0.8 && moved.length < (COUNT / 5) * 1.2, `${moved.length} moved`)
  })

  it('changes only for the lanes of the worker that leaves', () => {
    const ids = idsBy(randomId)

    const moved = ids.filter((id) => preferredWorker(id, FOUR) !== preferredWorker(id, [ANNA, BEN, CLEO]))

    assert.ok(moved.length > 0)
    assert.ok(moved.every((id) => preferredWorker(id, FOUR) === DORA))
  })

  it('is the same in every process, whatever the order of the list', () => {
    // Written down, so that a version that reckons otherwise is noticed: beside the one before it, it would tug at lanes.
    const fixed = ['con_1', 'con_2', 'con_3', 'con_4', 'con_5', 'con_6'] as ConnectionId[]

    const chosen = fixed.map((id) => preferredWorker(id, FOUR))

    assert.deepEqual(chosen, ['ben', 'ben', 'anna', 'dora', 'ben', 'dora'])
    assert.deepEqual(
      fixed.map((id) => preferredWorker(id, [...FOUR].reverse())),
      chosen,
    )
  })
})

describe('the assignment of a worker', () => {
  it('is everything while no other worker is known', () => {
    const { assignment } = createAssignment()
    const before = isAllOwn(assignment)
    assignment.updateMembers([ANNA])

    assert.deepEqual([before, isAllOwn(assignment)], [true, true])
  })

  it('gives each lane to exactly one living worker', () => {
    const shares = FOUR.map((worker) => createAssignment(worker).assignment)
    for (const assignment of shares) assignment.updateMembers(FOUR)

    for (const id of idsBy(randomId))
      assert.equal(shares.filter((assignment) => !assignment.belongsToPeer(id)).length, 1)
  })

  it('reports when the list of living workers has changed, and only then', () => {
    const { assignment } = createAssignment()

    const changes = [[ANNA], [ANNA, BEN], [BEN, ANNA], [BEN, CLEO], [BEN, CLEO], [CLEO]].map((members) =>
      assignment.updateMembers(members),
    )

    assert.deepEqual(changes, [true, true, false, true, false, true])
  })

  it('never defers a lane of its own', () => {
    const { assignment } = createAssignment()
    assignment.updateMembers([ANNA, BEN])

    assert.equal(assignment.shouldDefer(lanesOf(ANNA)[0]!), false)
  })

  it('defers the lane of another worker until it has been free for five seconds', async () => {
    const { assignment, clock } = createAssignment()
    assignment.updateMembers([ANNA, BEN])
    const [id] = lanesOf(BEN) as [ConnectionId]

    const first = assignment.shouldDefer(id)
    await clock.pass(DEFER_FOR_MS - 1)
    const justBefore = assignment.shouldDefer(id)
    await clock.pass(1)
    const then = [assignment.shouldDefer(id), assignment.shouldDefer(id)]

    assert.deepEqual([first, justBefore, then], [true, true, [false, false]])
  })

  it('starts to count again after the lane was claimed, by this worker or another', async () => {
    const { assignment, clock } = createAssignment()
    assignment.updateMembers([ANNA, BEN])
    const [own, others] = lanesOf(BEN) as [ConnectionId, ConnectionId]
    assignment.shouldDefer(own)
    assignment.shouldDefer(others)
    await clock.pass(DEFER_FOR_MS)
    assignment.claimed(own)
    const again = assignment.shouldDefer(own)

    // It was not found free meanwhile, so its worker has had it.
    await clock.pass(30_000)
    assignment.updateMembers([ANNA, BEN])

    assert.deepEqual([again, assignment.shouldDefer(others)], [true, true])
  })

  it('has deferred lanes while it may have to claim some', async () => {
    const { assignment, clock } = createAssignment()
    assignment.updateMembers([ANNA, BEN])
    const before = assignment.hasDeferredLanes
    assignment.shouldDefer(lanesOf(BEN)[0]!)
    const during = assignment.hasDeferredLanes
    await clock.pass(30_000)
    assignment.updateMembers([ANNA, BEN])

    assert.deepEqual([before, during, assignment.hasDeferredLanes], [false, true, false])
  })

  it('starves no lane, however many are deferred at once', async () => {
    const { assignment, clock } = createAssignment()
    assignment.updateMembers([ANNA, BEN])
    const left = new Set(lanesOf(BEN, 25_000))
    const rounds: number[] = []

    // Each round finds all that are still free, as a poll does.
    for (let round = 0; round < 12 && left.size > 0; round++) {
      const free = [...left].filter((id) => !assignment.shouldDefer(id))
      for (const id of free) {
        assignment.claimed(id)
        left.delete(id)
      }
      rounds.push(free.length)
      await clock.pass(2_500)
      assignment.updateMembers([ANNA, BEN])
    }

    assert.equal(left.size, 0)
    assert.ok(Math.max(...rounds) <= 10_000, `${Math.max(...rounds)} were remembered at once`)
  })
})

function createAssignment(worker = ANNA) {
  const clock = new HandClock()
  return { clock, assignment: new RendezvousAssignment({ worker, clock }) }
}

function isAllOwn(assignment: RendezvousAssignment): boolean {
  return idsBy(randomId).every((id) => !assignment.belongsToPeer(id))
}

/** Lanes that `worker` should hold of Anna and Ben. */
function lanesOf(worker: WorkerId, count = 2): ConnectionId[] {
  const found: ConnectionId[] = []
  for (let index = 0; found.length < count; index++) {
    const id = randomId(index) as ConnectionId
    if (preferredWorker(id, [ANNA, BEN]) === worker) found.push(id)
  }
  return found
}

function idsBy(idOf: (index: number) => string): ConnectionId[] {
  return Array.from({ length: COUNT }, (_, index) => idOf(index) as ConnectionId)
}

/** Seems random, and is the same in each run. */
function randomId(index: number): string {
  let state = (index + 1) * 0x9e3779b1
  let text = ''
  for (let i = 0; i < 16; i++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39
    text += 'abcdefghijklmnopqrstuvwxyz234567'[(state >>> 9) & 31]
  }
  return `con_${text}`
}

function countByWorker(ids: readonly ConnectionId[], workers: readonly WorkerId[]): Map<WorkerId | null, number> {
  const counts = new Map<WorkerId | null, number>()
  for (const id of ids) {
    const worker = preferredWorker(id, workers)
    counts.set(worker, (counts.get(worker) ?? 0) + 1)
  }
  return counts
}
