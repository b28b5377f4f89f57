import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { AccountId } from '../ids.ts'
import type { Journal } from '../ports/journal.ts'
import { StorageUnavailable } from '../ports/lanes.ts'
import type { Retention, RetentionState, RetentionTask } from '../ports/retention.ts'
import { RetentionJob } from './retention-job.ts'
import type { OwnTimes } from './retention-times.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

type Recorded = Parameters<Journal['record']>[0]

/** Has a given amount to delete, three steps for each task, and records its calls. */
class MadeUpRetention implements Retention {
  readonly aimMs = 3
  readonly mostRows = 400
  state: RetentionState = { beginsAt: 0, waitsFor: null, sweptBy: null, last: null }
  stepsOfATask = 3
  stepTakesMs = 2
  ownTimes = new Map<AccountId, OwnTimes>()
  turnEndsAt = 0
  stepsOutsideTheTurn = 0
  fault: Error | null = null
  readonly steps: RetentionTask['do'][] = []
  readonly sweptAt: number[] = []
  turns = 0

  async read(): Promise<RetentionState> {
    if (this.fault) throw this.fault
    return this.state
  }

  async readOwnTimes() {
    return this.ownTimes
  }

  async acquireLease(worker: string, now: number, forMs: number): Promise<boolean> {
    if (this.state.sweptBy !== null && this.state.sweptBy !== worker) return false
    this.state = { ...this.state, sweptBy: worker }
    this.turnEndsAt = now + forMs
    return true
  }

  async releaseLease(): Promise<void> {
    this.turns += 1
    this.state = { ...this.state, sweptBy: null }
  }

  async postpone(beginsAt: number, waitsFor: RetentionState['waitsFor']): Promise<void> {
    this.state = { ...this.state, beginsAt, waitsFor }
  }

  async step(task: RetentionTask, { cursor }: { readonly cursor: string | null }) {
    this.steps.push(task.do)
    if (clock.now() >= this.turnEndsAt) this.stepsOutsideTheTurn += 1
    const done = Number(cursor ?? 0) + 1
    return {
      removed: { bodies: 1 },
      isThrough: done === this.stepsOfATask,
      tookMs: this.stepTakesMs,
      cursor: `${done}`,
    }
  }

  async finish(worker: string, last: NonNullable<RetentionState['last']>): Promise<boolean> {
    if (this.state.sweptBy !== worker) return false
    this.sweptAt.push(last.begunAt)
    this.state = { ...this.state, last }
    return true
  }
}

let clock: HandClock
let storage: MadeUpRetention
let events: Recorded[]
let job: RetentionJob
let prepared: number

beforeEach(() => {
  clock = new HandClock()
  storage = new MadeUpRetention()
  events = []
  prepared = 0
  job = new RetentionJob({
    storage,
    times: { bodiesDays: 30, messagesDays: 90, auditDays: 400 },
    worker: 'anna',
    clock,
    journal: { record: (event) => void events.push(event) },
    onDeliveriesGone: async () => {},
    prepare: async () => {
      prepared += 1
      throw new Error('what is prepared keeps nothing from being deleted')
    },
  })
})

afterEach(() => job.stop())

function eventsOf(): string[] {
  return events.map(({ event }) => event)
}

function sweptJust(agoMs: number): void {
  const at = clock.now() - agoMs
  storage.state = { ...storage.state, last: { begunAt: at, endedAt: at, tookMs: 1, removed: {} } }
}

describe('the retention job', () => {
  it('sweeps a minute after the start, and every hour from then on', async () => {
    const startedAt = clock.now()
    job.start()
    await clock.pass(MINUTE_MS - 1)
    const early = storage.steps.length
    await clock.pass(1 + 3 * HOUR_MS + 10_000)

    const after = storage.sweptAt.map((at) => Math.floor((at - startedAt) / MINUTE_MS))
    assert.equal(early, 0)
    assert.deepEqual(after, [1, 61, 121, 181])
    assert.deepEqual(eventsOf(), Array(4).fill('retention.swept'))
    assert.equal(prepared, 4)
  })

  it('rests after each step ten times as long as the step took', async () => {
    job.start()
    await clock.pass(MINUTE_MS)
    const counts: number[] = []
    for (const ms of [19, 1, 19, 1]) {
      await clock.pass(ms)
      counts.push(storage.steps.length)
    }

    assert.deepEqual(counts, [1, 2, 2, 3])
  })

  it('renews its lease through many tasks of one step each', async () => {
    storage.stepsOfATask = 1
    storage.stepTakesMs = 50
    for (let n = 0; n < 700; n += 1)
      storage.ownTimes.set(`account-${n}` as AccountId, { bodiesDays: 1, messagesDays: 1 })
    job.start()
    await clock.pass(HOUR_MS)

    assert.ok(storage.steps.length > 2_800)
    assert.equal(storage.stepsOutsideTheTurn, 0)
    assert.equal(storage.sweptAt.length, 1)
  })

  it('stops at a task of one step when another worker has taken its lease', async () => {
    storage.stepsOfATask = 1
    job.start()
    await clock.pass(MINUTE_MS)
    storage.state = { ...storage.state, sweptBy: 'ben' }
    await clock.pass(10 * MINUTE_MS)

    assert.equal(storage.steps.length, 1)
    assert.deepEqual([storage.sweptAt, events], [[], []])
  })

  it('starts at a random time, so that workers do not all check at once', async () => {
    clock.jitter = 0
    job.start()
    await clock.pass(45_000)

    assert.ok(storage.steps.length > 0)
  })

  it('waits for a day after a copy, says so once, and begins by itself', async () => {
    storage.state = { ...storage.state, beginsAt: clock.now() + DAY_MS, waitsFor: 'copy' }
    const until = storage.state.beginsAt
    job.start()
    await clock.pass(DAY_MS - 1)
    const early = [storage.steps.length, eventsOf()]
    await clock.pass(HOUR_MS + 10_000)

    assert.deepEqual(early, [0, ['retention.waiting']])
    assert.deepEqual(events[0], { event: 'retention.waiting', why: 'copy', until })
    assert.ok((storage.sweptAt[0] ?? 0) >= until)
    assert.equal(prepared, 1)
  })

  it('begins when a person ended the wait', async () => {
    storage.state = { ...storage.state, beginsAt: clock.now() + DAY_MS, waitsFor: 'copy' }
    job.start()
    await clock.pass(MINUTE_MS)
    await storage.postpone(clock.now(), null)
    await clock.pass(HOUR_MS + 10_000)

    assert.equal(storage.sweptAt.length, 1)
  })

  it('waits for a day after a clock that leapt, or after a long stop', async () => {
    sweptJust(7 * DAY_MS)
    job.start()
    await clock.pass(MINUTE_MS)
    const { beginsAt, waitsFor } = storage.state
    const early = storage.steps.length
    await clock.pass(DAY_MS + HOUR_MS)

    assert.deepEqual([early, waitsFor, beginsAt > clock.now() - 2 * HOUR_MS], [0, 'pause', true])
    assert.deepEqual(events[0], { event: 'retention.waiting', why: 'pause', until: beginsAt })
    assert.ok((storage.sweptAt[0] ?? 0) >= beginsAt)
  })

  it('waits no longer than a day when the clock that leapt is right again', async () => {
    sweptJust(HOUR_MS)
    storage.state = { ...storage.state, beginsAt: clock.now() + 40 * DAY_MS, waitsFor: 'pause' }
    job.start()
    await clock.pass(MINUTE_MS)
    const until = clock.now() + DAY_MS
    const early = storage.steps.length
    await clock.pass(DAY_MS + 2 * HOUR_MS)

    assert.equal(early, 0)
    assert.deepEqual(events[0], { event: 'retention.waiting', why: 'pause', until })
    assert.equal(eventsOf().filter((event) => event === 'retention.waiting').length, 1)
    assert.ok((storage.sweptAt[0] ?? 0) >= until)
  })

  it('does not wait after a stop that was not long', async () => {
    sweptJust(7 * DAY_MS - HOUR_MS)
    job.start()
    await clock.pass(2 * MINUTE_MS)

    assert.equal(storage.sweptAt.length, 1)
  })

  it('stops in the middle, gives its turn back, and leaves no timer', async () => {
    storage.stepsOfATask = 1_000
    job.start()
    await clock.pass(MINUTE_MS + 100)
    const before = storage.steps.length
    const stopped = job.stop()
    await stopped
    await job.stop()
    const { timers } = clock
    await clock.pass(3 * HOUR_MS)

    assert.ok(before > 1)
    assert.deepEqual([storage.steps.length, storage.turns, timers], [before, 1, 0])
    assert.deepEqual([storage.sweptAt, events], [[], []])
  })

  it('leaves it to a process that sweeps already', async () => {
    storage.state = { ...storage.state, sweptBy: 'ben' }
    job.start()
    await clock.pass(HOUR_MS)
    const meanwhile = storage.steps.length
    storage.state = { ...storage.state, sweptBy: null }
    await clock.pass(HOUR_MS)

    assert.equal(meanwhile, 0)
    assert.equal(storage.sweptAt.length, 1)
  })

  it.each([
    ['a fault', new Error('unknown'), 'fault'],
    ['a database that is away', new StorageUnavailable('the disk is full', false), 'storage.unavailable'],
  ])('tries %s again an hour later', async (_, fault, event) => {
    storage.fault = fault
    job.start()
    await clock.pass(HOUR_MS)
    storage.fault = null
    await clock.pass(HOUR_MS)

    assert.deepEqual(eventsOf(), [event, 'retention.swept'])
  })
})
