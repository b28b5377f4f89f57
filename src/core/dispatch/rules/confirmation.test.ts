import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { LaneMemory } from '../../ports/lanes.ts'
import { type LaneStatus, wantsConfirmation } from './confirmation.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOON = Date.UTC(2026, 0, 15, 12)
const NOTHING: LaneMemory = { failureStreak: null, wait: null }

function lane(given: Partial<LaneStatus> = {}): LaneStatus {
  const policy = { ...DEFAULT_LANE_POLICY, confirmBacklogAfterMs: 2 * HOUR }
  return { policy, memory: NOTHING, now: NOON, lastAttemptAt: null, ...given }
}

function asks(acceptedAgoMs: number, given: Partial<LaneStatus> = {}): boolean {
  return wantsConfirmation({ acceptedAt: NOON - acceptedAgoMs }, lane(given))
}

function waiting(reason: string, until: number | null): LaneMemory {
  return { ...NOTHING, wait: { reason, words: null, until } }
}

function troubled(sinceAgoMs: number): LaneMemory {
  const failureStreak = { failures: 9, since: NOON - sinceAgoMs, messages: 1 }
  return { failureStreak, wait: { reason: 'connection_away', words: null, until: NOON + MINUTE } }
}

describe('whether a backlog waits for a person', () => {
  it('asks when the lane stood still for longer than allowed, to the millisecond', () => {
    const ages = [2 * HOUR, 2 * HOUR + 1]

    assert.deepEqual(
      ages.map((age) => asks(age, { lastAttemptAt: NOON - age })),
      [false, true],
    )
  })

  it('never asks where the connection does not want it', () => {
    assert.equal(asks(30 * 24 * HOUR, { policy: DEFAULT_LANE_POLICY }), false)
  })

  it('asks for no confirmation of a new message, however long the lane had nothing to do', () => {
    assert.equal(asks(MINUTE, { lastAttemptAt: NOON - 100 * HOUR }), false)
  })

  it('does not ask a lane that moves slowly, however old its head is', () => {
    assert.equal(asks(20 * HOUR, { lastAttemptAt: NOON - HOUR }), false)
  })

  it.each(['pace', 'quiet_hours', 'all_deferred'])('takes a planned wait (%s) for movement', (reason) => {
    const [over, long] = [waiting(reason, NOON - MINUTE), waiting(reason, NOON - 3 * HOUR)]

    assert.equal(asks(9 * HOUR, { lastAttemptAt: NOON - 9 * HOUR, memory: over }), false)
    // The service was down since it was over.
    assert.equal(asks(9 * HOUR, { lastAttemptAt: NOON - 9 * HOUR, memory: long }), true)
  })

  it('does not take tries for movement while the connection is away', () => {
    const tried = { lastAttemptAt: NOON - MINUTE }

    assert.equal(asks(3 * HOUR, { ...tried, memory: troubled(3 * HOUR) }), true)
    assert.equal(asks(3 * HOUR, { ...tried, memory: troubled(HOUR) }), false)
  })

  it('goes by the age of the head where no attempt is known of', () => {
    assert.deepEqual([asks(3 * HOUR), asks(HOUR)], [true, false])
  })

  it('is not fooled by a clock that was set back', () => {
    assert.equal(asks(3 * HOUR, { lastAttemptAt: NOON + HOUR }), false)
  })

  it('asks no more once a person has confirmed, which counts as movement', () => {
    assert.equal(asks(20 * HOUR, { lastAttemptAt: NOON - 1 }), false)
  })
})
