import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Counted, DAY_MS, HOUR_MS, hourOf, MINUTE_MS, nextHour } from './hours.ts'

const NOW = Date.UTC(2026, 0, 15, 12, 30)
const CURRENT = hourOf(NOW)
const quiet = { now: NOW, isWatched: false, last: null }

describe('which hour is counted next', () => {
  it('is the hour at hand first, when it was never counted', () => {
    assert.equal(nextHour(counted({ at: new Map() }), quiet), CURRENT)
  })

  it('is none, when all are as fresh as they need to be', () => {
    assert.equal(nextHour(counted({}), quiet), null)
  })

  it('is the current hour after ten seconds while a person watches, else after ten minutes', () => {
    const at = (agoMs: number) => counted({ at: all(NOW).set(CURRENT, NOW - agoMs) })

    assert.equal(nextHour(at(11_000), quiet), null)
    assert.equal(nextHour(at(11_000), { ...quiet, isWatched: true }), CURRENT)
    assert.equal(nextHour(at(10 * MINUTE_MS), quiet), CURRENT)
  })

  it('is the hour that has just ended as often, because its last seconds came after its last count', () => {
    const now = CURRENT + HOUR_MS + 15_000
    const at = all(now)
      .set(CURRENT, CURRENT + HOUR_MS - 5_000)
      .set(CURRENT + HOUR_MS, now)
    const watched = { now, isWatched: true, last: CURRENT + HOUR_MS }
    const later = (ms: number) => ({ ...watched, now: now + ms, last: null })

    assert.equal(nextHour(counted({ at }), watched), CURRENT)
    assert.equal(nextHour(counted({ at }), { ...watched, isWatched: false }), null)
    // What went on its way in the first minutes of the next hour is seen, too, and then it rests.
    const after = new Map([
      ...all(now + 10 * MINUTE_MS),
      [CURRENT, now + 9 * MINUTE_MS],
      [CURRENT + HOUR_MS, now + 10 * MINUTE_MS],
    ])
    assert.equal(nextHour(counted({ at: after }), later(10 * MINUTE_MS)), null)
  })

  it('is the hour at hand when the clock was set back behind its last count', () => {
    assert.equal(nextHour(counted({ at: all(NOW).set(CURRENT, NOW + HOUR_MS) }), quiet), CURRENT)
  })

  it('is an hour of the last two days after ten minutes, and an older one after a day', () => {
    const late = (age: number, agoMs: number) => {
      const hour = hourOf(NOW - age)
      return [hour, nextHour(counted({ at: all(NOW).set(hour, NOW - agoMs) }), quiet)]
    }

    const [young, afterTenMinutes] = late(40 * HOUR_MS, 10 * MINUTE_MS)
    const [, afterAnHour] = late(3 * DAY_MS, HOUR_MS)
    const [old, afterADay] = late(3 * DAY_MS, DAY_MS)

    assert.equal(afterTenMinutes, young)
    assert.equal(afterAnHour, null)
    assert.equal(afterADay, old)
  })

  it('is an hour of more than eight days once more, and then no more', () => {
    const hour = hourOf(NOW - 8 * DAY_MS) - 2 * HOUR_MS

    const before = nextHour(counted({ at: all(NOW).set(hour, hour + 7.9 * DAY_MS) }), quiet)
    const after = nextHour(counted({ at: all(NOW).set(hour, hour + 8 * DAY_MS) }), quiet)

    assert.equal(before, hour)
    assert.equal(after, null)
  })

  it('is an hour of any age in which something waits, once a day', () => {
    const hour = hourOf(NOW - 60 * DAY_MS)
    const waiting = new Set([hour])

    assert.equal(nextHour(counted({ waiting, at: all(NOW).set(hour, NOW - DAY_MS) }), quiet), hour)
    assert.equal(nextHour(counted({ waiting, at: all(NOW).set(hour, NOW - HOUR_MS) }), quiet), null)
  })

  it('is what was never counted, newest first, after all that is due', () => {
    const missing = hourOf(NOW - 20 * DAY_MS)

    assert.equal(nextHour(counted({ missing }), quiet), missing)
    assert.equal(nextHour(counted({ missing, at: all(NOW).set(CURRENT, 0) }), quiet), CURRENT)
  })

  it('lets the others have their turn when the hour at hand is due again at once', () => {
    const before = CURRENT - HOUR_MS
    const due = counted({ at: all(NOW).set(CURRENT, 0).set(before, 0) })

    assert.equal(nextHour(due, { ...quiet, last: null }), CURRENT)
    assert.equal(nextHour(due, { ...quiet, last: CURRENT }), before)
    assert.equal(nextHour(counted({ at: all(NOW).set(CURRENT, 0) }), { ...quiet, last: CURRENT }), CURRENT)
  })

  it('is never one before anything was accepted', () => {
    assert.equal(nextHour({ ...counted({ at: all(NOW, 3) }), oldest: NOW - 2 * HOUR_MS }, quiet), null)
  })
})

function counted(more: Partial<Counted>): Counted {
  return { at: all(NOW), waiting: new Set(), missing: null, oldest: NOW - 90 * DAY_MS, ...more }
}

function all(at: number, hours = 10 * 24): Map<number, number> {
  return new Map(Array.from({ length: hours }, (_, index) => [CURRENT - index * HOUR_MS, at]))
}
