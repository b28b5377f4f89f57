import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY, type LanePolicy } from '../connection/lane-policy.ts'
import { endOfQuietHours } from '../connection/quiet-hours.ts'
import { ALARM_KINDS } from './alarm-kinds.ts'
import { predictExpiry } from './predict-expiry.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface Given {
  readonly waiting: number
  readonly policy?: Partial<LanePolicy>
  readonly oldestAgoMs?: number
  readonly newestAgoMs?: number
  readonly state?: 'active' | 'paused'
}

function predict({ waiting, policy, oldestAgoMs = 0, newestAgoMs = oldestAgoMs, state = 'active' }: Given) {
  const lane = {
    state,
    policy: { ...DEFAULT_LANE_POLICY, timeToLiveMs: HOUR_MS, ...policy },
    head: { sequence: 1 as never, acceptedAt: NOON - oldestAgoMs, ownWait: null },
  }
  return predictExpiry(lane, { waiting, isMore: false, newestAt: NOON - newestAgoMs }, NOON)?.count ?? 0
}

describe('which messages will expire', () => {
  const slow = { leastGapMs: MINUTE_MS }

  it('counts those that the pace leaves behind', () => {
    assert.equal(predict({ waiting: 61, policy: slow }), 0)
    assert.equal(predict({ waiting: 62, policy: slow }), 1)
    assert.equal(predict({ waiting: 100, policy: slow }), 39)
    assert.equal(predict({ waiting: 100, policy: slow, oldestAgoMs: 30 * MINUTE_MS }), 69)
    assert.equal(predict({ waiting: 100_000 }), 0)
  })

  it('comes with advice that lets fewer expire', () => {
    const waiting = 100
    const now = predict({ waiting, policy: slow })

    assert.match(ALARM_KINDS.messages_will_expire.nextStep, /shorten its least gap or raise its time to live/)
    assert.ok(predict({ waiting, policy: { leastGapMs: slow.leastGapMs / 2 } }) < now)
    assert.ok(predict({ waiting, policy: { ...slow, timeToLiveMs: 2 * HOUR_MS } }) < now)
  })

  it('counts the time in which a connection is quiet, too', () => {
    const night = { from: '11:00', to: '13:30', timeZone: 'UTC' }

    assert.equal(predict({ waiting: 5, policy: { quietHours: night } }), 5)
    assert.equal(predict({ waiting: 5, policy: { quietHours: { ...night, to: '12:30' } } }), 0)
    assert.ok(predict({ waiting: 62, policy: { ...slow, quietHours: { ...night, from: '01:00', to: '09:00' } } }) > 1)
  })

  it('counts those of a paused connection that have an hour left', () => {
    const day = { timeToLiveMs: 24 * HOUR_MS }
    const paused = { waiting: 11, state: 'paused', policy: day } as const

    assert.equal(predict({ ...paused, oldestAgoMs: 22 * HOUR_MS, newestAgoMs: 12 * HOUR_MS }), 0)
    assert.equal(predict({ ...paused, oldestAgoMs: 23 * HOUR_MS, newestAgoMs: 13 * HOUR_MS }), 1)
    assert.equal(predict({ ...paused, oldestAgoMs: 23.5 * HOUR_MS, newestAgoMs: 23.5 * HOUR_MS }), 11)
  })

  it('comes to what sending one after the other comes to', () => {
    let seed = 7
    const random = () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed / 2 ** 32
    }
    for (let round = 0; round < 500; round++) {
      const waiting = 1 + Math.floor(random() * 200)
      const oldestAgoMs = Math.floor(random() * 50) * MINUTE_MS
      const newestAgoMs = Math.floor((random() * oldestAgoMs) / MINUTE_MS) * MINUTE_MS
      const leastGapMs = 1_000 + Math.floor(random() * 120) * 1_000

      const apartMs = waiting > 1 ? (oldestAgoMs - newestAgoMs) / (waiting - 1) : 0
      let late = 0
      for (let place = 0; place < waiting; place++) {
        if (NOON + place * leastGapMs > NOON - oldestAgoMs + place * apartMs + HOUR_MS) late += 1
      }

      assert.ok(Math.abs(predict({ waiting, oldestAgoMs, newestAgoMs, policy: { leastGapMs } }) - late) <= 1)
    }
    assert.equal(endOfQuietHours({ from: '11:00', to: '13:00', timeZone: 'UTC' }, NOON), NOON + HOUR_MS)
  })
})
