import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../ids.ts'
import { MESSAGE_TYPES, type QueuedMessage } from '../../message/message.ts'
import type { LaneMemory, LaneWait } from '../../ports/lanes.ts'
import { applyRateLimitDelay, decideHead, type HeadContext } from './decide-head.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const NOTHING: LaneMemory = { head: null, failureStreak: null, wait: null }
const OPEN = { do: 'start' } as const
const DAY = 24 * 3_600_000
const FILE = { path: 'spool/file', sizeBytes: 1, sha256: '00', mime: 'image/png' }
const PENDING = { kind: 'pending', tries: 1, nextTryAt: 0, lastWords: 'slow' } as const

const MESSAGE: QueuedMessage = {
  sequence: 7,
  id: 'message' as MessageId,
  accountId: 'account' as AccountId,
  connectionId: 'connection' as ConnectionId,
  recipient: '15550100000',
  acceptedAt: NOON,
  attempts: 0,
  content: { type: 'message', text: 'Hello' },
  media: null,
}
const IMAGE: QueuedMessage = {
  ...MESSAGE,
  content: { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: null },
  media: PENDING,
}

function context(given: Partial<HeadContext> = {}): HeadContext {
  return {
    policy: DEFAULT_LANE_POLICY,
    memory: NOTHING,
    now: NOON,
    lastAttemptAt: null,
    paceJitter: 0.5,
    channelTypes: MESSAGE_TYPES,
    fetchedSince: null,
    isReady: true,
    isRateLimitDelay: false,
    isBlocked: false,
    ...given,
  }
}

function waiting(wait: LaneWait, sequence = 7, resent = false): LaneMemory {
  return { head: { sequence, tries: 1, budgetUsedMs: 0, resent, crashes: 0 }, failureStreak: null, wait }
}

describe('the decision about the head of a lane', () => {
  it('opens what is due', () => {
    assert.deepEqual(decideHead(MESSAGE, context()), { do: 'start' })
  })

  it('expires what has lived its time, to the millisecond', () => {
    const [just, over] = [context({ now: NOON + DAY - 1 }), context({ now: NOON + DAY })]

    assert.equal(decideHead(MESSAGE, just).do, 'start')
    assert.deepEqual(decideHead(MESSAGE, over), {
      do: 'discard',
      as: 'EXPIRED',
      reason: 'time_to_live_over',
      words: null,
    })
  })

  it('fails what is damaged, and what the channel cannot send', () => {
    const decisions = [
      decideHead({ ...MESSAGE, content: null }, context()),
      decideHead(MESSAGE, context({ channelTypes: ['image'] })),
    ]

    assert.deepEqual(
      decisions.map((each) => each.do === 'discard' && [each.as, each.reason]),
      [
        ['FAILED', 'message_damaged'],
        ['FAILED', 'type_unsupported'],
      ],
    )
  })

  it('G5: says UNCONFIRMED when what it drops may have arrived before', () => {
    const memory = waiting({ reason: 'retrying', words: null, until: NOON }, 7, true)

    const decision = decideHead(MESSAGE, context({ memory, now: NOON + DAY }))

    assert.deepEqual(decision, { do: 'discard', as: 'UNCONFIRMED', reason: 'result_unknown', words: null })
  })
})

describe('the decision while the lane waits', () => {
  const retrying = { reason: 'retrying', words: 'busy', until: NOON + 5_000 }

  it('waits until the end, with the same memory, and not a millisecond longer', () => {
    const memory = waiting(retrying)

    const [before, at] = [
      decideHead(MESSAGE, context({ memory, now: NOON + 4_999 })),
      decideHead(MESSAGE, context({ memory, now: NOON + 5_000 })),
    ]

    assert.ok(before.do === 'wait' && before.memory === memory)
    assert.equal(at.do, 'start')
  })

  it('waits without an end until something changes', () => {
    const memory = waiting({ reason: 'credentials_refused', words: null, until: null })

    assert.equal(decideHead(MESSAGE, context({ memory, now: NOON + 3_600_000 })).do, 'wait')
  })

  it('G3: does not make a message wait for the retry of another, which was cancelled', () => {
    assert.equal(decideHead(MESSAGE, context({ memory: waiting(retrying, 6) })).do, 'start')
  })

  it('does not wait for a recipient whose message has gone', () => {
    const wait = { reason: 'whatsapp_131056', words: null, until: NOON + 3_600_000 }
    const failureStreak = { failures: 6, since: NOON, messages: 1, lastSequence: 7 }
    const memory = { head: null, failureStreak, wait }

    assert.equal(decideHead(MESSAGE, context({ memory })).do, 'wait')
    assert.equal(decideHead({ ...MESSAGE, sequence: 8 }, context({ memory })).do, 'start')
  })

  it('makes every message wait for the connection', () => {
    const memory = waiting({ reason: 'connection_away', words: null, until: NOON + 5_000 }, 6)

    assert.equal(decideHead(MESSAGE, context({ memory })).do, 'wait')
  })

  it('does not wait for days because the clock was set back', () => {
    const memory = waiting({ reason: 'connection_away', words: null, until: NOON + 2 * DAY })

    assert.equal(decideHead(MESSAGE, context({ memory })).do, 'start')
  })
})

describe('the decision about pace', () => {
  const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 1_000, gapJitterMs: 500 }

  it('waits for the gap and its jitter since the last attempt started', () => {
    const resting = decideHead(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_000 }))
    const rested = decideHead(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_250 }))

    assert.deepEqual(resting.do === 'wait' && resting.memory.wait, { reason: 'pace', words: null, until: NOON + 250 })
    assert.equal(rested.do, 'start')
  })

  it('writes the same rest down only once', () => {
    const first = decideHead(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_000 }))
    assert.ok(first.do === 'wait')

    const second = decideHead(
      MESSAGE,
      context({ policy, lastAttemptAt: NOON - 1_000, memory: first.memory, now: NOON + 1 }),
    )

    assert.ok(second.do === 'wait' && second.memory === first.memory)
  })

  it('does not rest for days because the clock was set back', () => {
    assert.equal(decideHead(MESSAGE, context({ policy, lastAttemptAt: NOON + 2 * DAY })).do, 'start')
  })

  it('knows no rest without a gap, nor before the first attempt', () => {
    assert.equal(decideHead(MESSAGE, context({ lastAttemptAt: NOON })).do, 'start')
    assert.equal(decideHead(MESSAGE, context({ policy })).do, 'start')
  })
})

describe('the decision about media', () => {
  const until = NOON + DEFAULT_LANE_POLICY.headBudgetMs

  it('waits for the media of the head for at most the head budget', () => {
    const first = decideHead(IMAGE, context())
    assert.ok(first.do === 'wait')

    const again = decideHead(IMAGE, context({ memory: first.memory, now: until - 1 }))
    const over = decideHead(IMAGE, context({ memory: first.memory, now: until, fetchedSince: NOON }))

    assert.deepEqual(first.memory.wait, { reason: 'media_pending', words: 'slow', until })
    assert.ok(again.do === 'wait' && again.memory === first.memory)
    assert.deepEqual(over, { do: 'discard', as: 'FAILED', reason: 'head_budget_over', words: 'slow' })
  })

  it('G5: still knows what it tried when a file that was there has to be fetched again', () => {
    const memory = waiting({ reason: 'retrying', words: null, until: NOON }, 7, true)

    const decision = decideHead(IMAGE, context({ memory }))

    assert.deepEqual(decision.do === 'wait' && decision.memory.head, memory.head)
  })

  it('begins a budget of its own for each message', () => {
    const memory = waiting({ reason: 'media_pending', words: null, until: NOON - 1 }, 6)

    const decision = decideHead(IMAGE, context({ memory }))

    assert.equal(decision.do === 'wait' && decision.memory.wait?.until, until)
  })

  it('G11: charges no message for the time in which its file was not fetched: a stop, a full disk, no room', () => {
    const memory = waiting({ reason: 'media_pending', words: null, until: NOON })

    const decision = decideHead(IMAGE, context({ memory, fetchedSince: null }))

    assert.equal(decision.do === 'wait' && decision.memory.wait?.until, until)
  })

  it.each([
    ['began late', 60_000, -60_000],
    ['began before the clock was set back', 0, DAY],
  ])('leaves a file that %s its whole budget', (_, budgetUsedMs, sinceMs) => {
    const memory = waiting({ reason: 'media_pending', words: null, until: NOON })

    const decision = decideHead(IMAGE, context({ memory, fetchedSince: NOON + sinceMs }))

    assert.equal(decision.do === 'wait' && decision.memory.wait?.until, until - budgetUsedMs)
    const over = context({ memory, now: until - budgetUsedMs, fetchedSince: NOON - budgetUsedMs })
    assert.equal(decideHead(IMAGE, over).do, 'discard')
  })

  it('opens at once when the media is there, whatever end the wait had', () => {
    const memory = waiting({ reason: 'media_pending', words: null, until })

    assert.equal(decideHead({ ...IMAGE, media: { kind: 'ready', file: FILE } }, context({ memory })).do, 'start')
  })

  it('G10: waits through quiet hours, after everything else it waits for and before its pace', () => {
    const policy = {
      ...DEFAULT_LANE_POLICY,
      leastGapMs: 60_000,
      quietHours: { from: '11:00', to: '13:00', timeZone: 'UTC' },
    }
    const until = NOON + 3_600_000
    const quiet = { do: 'wait', memory: { ...NOTHING, wait: { reason: 'quiet_hours', words: null, until } } } as const

    const first = decideHead(MESSAGE, context({ policy, lastAttemptAt: NOON }))
    const again = decideHead(MESSAGE, context({ policy, memory: quiet.memory, now: NOON + 15_000 }))
    const after = decideHead(MESSAGE, context({ policy, memory: quiet.memory, now: until }))
    const takenBack = decideHead(MESSAGE, context({ memory: quiet.memory }))
    const retrying = waiting({ reason: 'retrying', words: null, until: NOON + 1_000 })
    const retried = decideHead(MESSAGE, context({ policy, memory: retrying }))

    assert.deepEqual(first, quiet)
    assert.equal(again.do === 'wait' && again.memory, quiet.memory)
    assert.deepEqual([after.do, takenBack.do], ['start', 'start'])
    assert.equal(retried.do === 'wait' && retried.memory.wait?.reason, 'retrying')
  })

  it('expires in quiet hours what has lived its time', () => {
    const policy = { ...DEFAULT_LANE_POLICY, quietHours: { from: '11:00', to: '13:00', timeZone: 'UTC' } }

    assert.equal(decideHead({ ...MESSAGE, acceptedAt: NOON - DAY }, context({ policy })).do, 'discard')
  })
})

describe('a head that is to be got ready', () => {
  const READY_IMAGE: QueuedMessage = { ...IMAGE, media: { kind: 'ready', file: { ...FILE, sizeBytes: 5_000_000 } } }
  const unready = (given: Partial<HeadContext> = {}) => decideHead(READY_IMAGE, context({ isReady: false, ...given }))

  it('G4: is not opened, and says until when at most it is being got ready', () => {
    const decision = unready()

    const wait = { reason: 'media_uploading', words: null, until: NOON + 280_000 }
    assert.deepEqual(decision, { do: 'prepare', memory: { ...NOTHING, wait }, budgetMs: 280_000 })
  })

  it('is so only when nothing else holds it', () => {
    const [expired, gap] = [
      unready({ now: NOON + DAY }),
      unready({ policy: { ...DEFAULT_LANE_POLICY, leastGapMs: 5_000 }, lastAttemptAt: NOON - 1_000 }),
    ]

    assert.deepEqual([expired.do, gap.do], ['discard', 'wait'])
  })

  it.each([
    ['with what is left of its head budget', 800_000, 100_000],
    ['with enough for one more try when nothing is left', 900_000, 30_000],
  ])('is so %s', (_, budgetUsedMs, budgetMs) => {
    const memory = {
      ...NOTHING,
      head: { sequence: 7, tries: 3, budgetUsedMs: budgetUsedMs, resent: false, crashes: 0 },
    }

    const decision = unready({ memory })

    assert.equal(decision.do === 'prepare' && decision.budgetMs, budgetMs)
  })

  it('is decided again each time', () => {
    const memory = waiting({ reason: 'media_uploading', words: null, until: NOON + DAY })

    assert.equal(unready({ memory }).do, 'prepare')
    assert.equal(unready({ memory, isReady: true }).do, 'start')
  })
})

describe('the pace of the network', () => {
  const REST = { until: NOON + 5_000, reason: 'rate_limited', words: 'slower' }

  it('holds a message until then', () => {
    const decision = applyRateLimitDelay(REST, NOTHING, NOON)

    assert.deepEqual(decision, { do: 'wait', memory: { ...NOTHING, wait: REST } })
  })

  it('says nothing new when it says the same again', () => {
    const memory = { ...NOTHING, wait: { ...REST } }

    const decision = applyRateLimitDelay(REST, memory, NOON)

    assert.equal(decision.do === 'wait' && decision.memory, memory)
  })

  it('lets go what it names no time for, or one that is over', () => {
    assert.deepEqual(
      [applyRateLimitDelay(null, NOTHING, NOON), applyRateLimitDelay({ ...REST, until: NOON }, NOTHING, NOON)],
      [OPEN, OPEN],
    )
  })

  it('is asked anew, and a wait of another kind is not', () => {
    const memory = waiting(REST)

    assert.deepEqual(decideHead(MESSAGE, context({ memory, isRateLimitDelay: true })), OPEN)
    assert.equal(decideHead(MESSAGE, context({ memory })).do, 'wait')
  })
})
