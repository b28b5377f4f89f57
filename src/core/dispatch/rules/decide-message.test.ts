import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../ids.ts'
import { MESSAGE_TYPES, type OwnWait, type QueuedMessage, type RetryState } from '../../message/message.ts'
import type { LaneMemory, LaneWait } from '../../ports/lanes.ts'
import { applyRateLimitDelay, decideMessage, type MessageContext } from './decide-message.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const NOTHING: LaneMemory = { failureStreak: null, wait: null }
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
  retry: null,
}
const IMAGE: QueuedMessage = {
  ...MESSAGE,
  content: { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: null },
  media: PENDING,
}

function context(given: Partial<MessageContext> = {}): MessageContext {
  return {
    policy: DEFAULT_LANE_POLICY,
    memory: NOTHING,
    now: NOON,
    lastAttemptAt: null,
    paceJitter: 0.5,
    channelTypes: MESSAGE_TYPES,
    isReady: true,
    isRateLimitDelay: false,
    isBlocked: false,
    ...given,
  }
}

function waiting(wait: LaneWait): LaneMemory {
  return { failureStreak: null, wait }
}

function retried(wait: OwnWait | null, resent = false): RetryState {
  return { tries: 1, resent, crashes: 0, wait }
}

describe('the decision about a message', () => {
  it('opens what is due', () => {
    assert.deepEqual(decideMessage(MESSAGE, context()), { do: 'start' })
  })

  it('expires what has lived its time, to the millisecond', () => {
    const [just, over] = [context({ now: NOON + DAY - 1 }), context({ now: NOON + DAY })]

    assert.equal(decideMessage(MESSAGE, just).do, 'start')
    assert.deepEqual(decideMessage(MESSAGE, over), {
      do: 'discard',
      as: 'EXPIRED',
      reason: 'time_to_live_over',
      words: null,
    })
  })

  it('fails what is damaged, and what the channel cannot send', () => {
    const decisions = [
      decideMessage({ ...MESSAGE, content: null }, context()),
      decideMessage(MESSAGE, context({ channelTypes: ['image'] })),
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
    const decision = decideMessage({ ...MESSAGE, retry: retried(null, true) }, context({ now: NOON + DAY }))

    assert.deepEqual(decision, { do: 'discard', as: 'UNCONFIRMED', reason: 'result_unknown', words: null })
  })
})

describe('the decision while the lane waits', () => {
  it('waits without an end until something changes', () => {
    const memory = waiting({ reason: 'credentials_refused', words: null, until: null })

    assert.equal(decideMessage(MESSAGE, context({ memory, now: NOON + 3_600_000 })).do, 'wait')
  })

  it('makes every message wait for the connection', () => {
    const memory = waiting({ reason: 'connection_away', words: null, until: NOON + 5_000 })

    assert.equal(decideMessage(MESSAGE, context({ memory })).do, 'wait')
  })

  it('does not wait for days because the clock was set back', () => {
    const memory = waiting({ reason: 'connection_away', words: null, until: NOON + 2 * DAY })

    assert.equal(decideMessage(MESSAGE, context({ memory })).do, 'start')
  })
})

describe('the decision about pace', () => {
  const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 1_000, gapJitterMs: 500 }

  it('waits for the gap and its jitter since the last attempt started', () => {
    const resting = decideMessage(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_000 }))
    const rested = decideMessage(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_250 }))

    assert.deepEqual(resting.do === 'wait' && resting.memory.wait, { reason: 'pace', words: null, until: NOON + 250 })
    assert.equal(rested.do, 'start')
  })

  it('writes the same rest down only once', () => {
    const first = decideMessage(MESSAGE, context({ policy, lastAttemptAt: NOON - 1_000 }))
    assert.ok(first.do === 'wait')

    const second = decideMessage(
      MESSAGE,
      context({ policy, lastAttemptAt: NOON - 1_000, memory: first.memory, now: NOON + 1 }),
    )

    assert.ok(second.do === 'wait' && second.memory === first.memory)
  })

  it('does not rest for days because the clock was set back', () => {
    assert.equal(decideMessage(MESSAGE, context({ policy, lastAttemptAt: NOON + 2 * DAY })).do, 'start')
  })

  it('knows no rest without a gap, nor before the first attempt', () => {
    assert.equal(decideMessage(MESSAGE, context({ lastAttemptAt: NOON })).do, 'start')
    assert.equal(decideMessage(MESSAGE, context({ policy })).do, 'start')
  })
})

describe('the decision about a message that waits for something of its own', () => {
  const retry = retried({ kind: 'retry', reason: 'retrying', words: 'busy', until: NOON + 5_000 })
  const message = { ...MESSAGE, retry }

  it('defers it until its next try, writes nothing anew, and not a millisecond longer', () => {
    const [before, at] = [4_999, 5_000].map((ms) => decideMessage(message, context({ now: NOON + ms })))

    assert.deepEqual(before, { do: 'defer', retry, reason: 'retrying', until: NOON + 5_000 })
    assert.ok(before?.do === 'defer' && before.retry === retry)
    assert.equal(at?.do, 'start')
  })

  it('does not defer it for days because the clock was set back', () => {
    const late = retried({ kind: 'retry', reason: 'retrying', words: null, until: NOON + 2 * DAY })

    assert.equal(decideMessage({ ...MESSAGE, retry: late }, context()).do, 'start')
  })

  it('defers it while its file is missing, without an end', () => {
    assert.deepEqual(decideMessage(IMAGE, context()), {
      do: 'defer',
      retry: null,
      reason: 'media_pending',
      until: null,
    })
  })

  it('checks a limit of the network and an upload anew, whatever was written', () => {
    for (const kind of ['rate-limit', 'upload'] as const) {
      const wait = { kind, reason: 'rate_limited', words: null, since: NOON, until: NOON + 5_000 }
      assert.equal(decideMessage({ ...MESSAGE, retry: retried(wait) }, context()).do, 'start')
    }
  })

  it('puts what stops the whole lane first', () => {
    const memory = waiting({ reason: 'connection_away', words: null, until: NOON + 1_000 })

    assert.equal(decideMessage(message, context({ memory })).do, 'wait')
    assert.equal(
      decideMessage(message, context({ memory: waiting({ reason: 'all_deferred', words: null, until: NOON + 1 }) })).do,
      'defer',
    )
  })

  it('G10: waits through quiet hours, after everything else it waits for and before its pace', () => {
    const policy = {
      ...DEFAULT_LANE_POLICY,
      leastGapMs: 60_000,
      quietHours: { from: '11:00', to: '13:00', timeZone: 'UTC' },
    }
    const until = NOON + 3_600_000
    const quiet = { do: 'wait', memory: { ...NOTHING, wait: { reason: 'quiet_hours', words: null, until } } } as const

    const first = decideMessage(MESSAGE, context({ policy, lastAttemptAt: NOON }))
    const again = decideMessage(MESSAGE, context({ policy, memory: quiet.memory, now: NOON + 15_000 }))
    const after = decideMessage(MESSAGE, context({ policy, memory: quiet.memory, now: until }))
    const takenBack = decideMessage(MESSAGE, context({ memory: quiet.memory }))
    const failing = waiting({ reason: 'trouble', words: null, until: NOON + 1_000 })
    const away = decideMessage(MESSAGE, context({ policy, memory: failing }))

    assert.deepEqual(first, quiet)
    assert.equal(again.do === 'wait' && again.memory, quiet.memory)
    assert.deepEqual([after.do, takenBack.do], ['start', 'start'])
    assert.equal(away.do === 'wait' && away.memory.wait?.reason, 'trouble')
  })

  it('expires in quiet hours what has lived its time', () => {
    const policy = { ...DEFAULT_LANE_POLICY, quietHours: { from: '11:00', to: '13:00', timeZone: 'UTC' } }

    assert.equal(decideMessage({ ...MESSAGE, acceptedAt: NOON - DAY }, context({ policy })).do, 'discard')
  })
})

describe('a message that is to be got ready', () => {
  const READY_IMAGE: QueuedMessage = { ...IMAGE, media: { kind: 'ready', file: { ...FILE, sizeBytes: 5_000_000 } } }
  const unready = (given: Partial<MessageContext> = {}) =>
    decideMessage(READY_IMAGE, context({ isReady: false, ...given }))

  it('G4: is not opened, and says until when at most it is being got ready', () => {
    const decision = unready()

    const until = NOON + 280_000
    const wait = { kind: 'upload', reason: 'media_uploading', words: null, since: NOON, until }
    const retry = { tries: 0, resent: false, crashes: 0, wait }
    assert.deepEqual(decision, { do: 'prepare', retry, budgetMs: 280_000, until })
  })

  it('is so only when nothing else holds it', () => {
    const [expired, gap] = [
      unready({ now: NOON + DAY }),
      unready({ policy: { ...DEFAULT_LANE_POLICY, leastGapMs: 5_000 }, lastAttemptAt: NOON - 1_000 }),
    ]

    assert.deepEqual([expired.do, gap.do], ['discard', 'wait'])
  })

  it('is decided again each time', () => {
    const wait = { kind: 'upload', reason: 'media_uploading', words: null, since: NOON, until: NOON + DAY } as const
    const message = { ...READY_IMAGE, retry: { tries: 0, resent: false, crashes: 0, wait } }

    assert.equal(decideMessage(message, context({ isReady: false })).do, 'prepare')
    assert.equal(decideMessage(message, context({ isReady: true })).do, 'start')
  })
})

describe('the pace of the network', () => {
  const words = 'slower'
  const LIMIT = { scope: 'connection', until: NOON + 5_000, reason: 'rate_limited', words } as const
  const OF_RECIPIENT = { ...LIMIT, scope: 'recipient' } as const
  const decided = (delay: Parameters<typeof applyRateLimitDelay>[0], retry: RetryState | null = null) =>
    applyRateLimitDelay(delay, { retry }, { memory: NOTHING, now: NOON })

  it('makes the lane wait until then, or only the messages to one recipient', () => {
    const { scope: _, ...wait } = LIMIT
    const own = { kind: 'rate-limit', since: NOON, ...wait } as const
    const { reason, until } = wait

    assert.deepEqual(decided(LIMIT), { do: 'wait', memory: { ...NOTHING, wait } })
    const retry = { tries: 1, resent: true, crashes: 2, wait: null }
    assert.deepEqual(decided(OF_RECIPIENT, retry), { do: 'defer', retry: { ...retry, wait: own }, reason, until })
  })

  it('says nothing new when it says the same again', () => {
    const { scope: _, ...wait } = LIMIT
    const memory = { ...NOTHING, wait }
    const retry = retried({ kind: 'rate-limit', since: NOON - 1, ...wait })

    const ofLane = applyRateLimitDelay(LIMIT, MESSAGE, { memory, now: NOON })
    const ofRecipient = decided(OF_RECIPIENT, retry)

    assert.equal(ofLane.do === 'wait' && ofLane.memory, memory)
    assert.equal(ofRecipient.do === 'defer' && ofRecipient.retry, retry)
  })

  it('keeps when a wait of a message began that goes on', () => {
    const since = NOON - 60_000
    const { scope: _, ...wait } = LIMIT
    const own = (decision: ReturnType<typeof decided>) => ('retry' in decision ? decision.retry?.wait : null)
    const before = { kind: 'rate-limit', since, ...wait, until: NOON } as const

    const longer = own(decided(OF_RECIPIENT, retried(before)))
    const other = own(decided(OF_RECIPIENT, retried({ ...before, reason: 'new_recipients' })))

    assert.deepEqual(longer, { kind: 'rate-limit', since, ...wait })
    assert.deepEqual(other, { kind: 'rate-limit', since: NOON, ...wait })
  })

  it('lets go what it names no time for, or one that is over', () => {
    assert.deepEqual([decided(null), decided({ ...LIMIT, until: NOON })], [OPEN, OPEN])
  })

  it('is asked anew, and a wait of another kind is not', () => {
    const { scope: _, ...wait } = LIMIT
    const memory = waiting(wait)

    assert.deepEqual(decideMessage(MESSAGE, context({ memory, isRateLimitDelay: true })), OPEN)
    assert.equal(decideMessage(MESSAGE, context({ memory })).do, 'wait')
  })
})
