import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { Failure, Outcome } from '../../ports/channel.ts'
import type { HeadRetryState, LaneMemory } from '../../ports/lanes.ts'
import { afterPreparing, type EndedAttempt, nextStep, type StepContext, type Unready } from './next-step.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const NOTHING: LaneMemory = { head: null, failureStreak: null, wait: null }
const MINUTE = 60_000

const ACCEPTED: Outcome = { kind: 'accepted', networkId: 'net-1' }
const UNKNOWN: Outcome = { kind: 'unknown', words: 'reset' }

function rejected(failure: Partial<Failure> & Pick<Failure, 'class'>): Outcome {
  return {
    kind: 'rejected',
    failure: { code: 'busy', words: 'come back later', suspectsNetwork: false, retryAfterMs: null, ...failure },
  }
}

const BUSY = rejected({ class: 'transient' })

function ended(outcome: Outcome, given: Partial<EndedAttempt> = {}): EndedAttempt {
  return {
    sequence: 7,
    number: 1,
    startedAt: NOON - 100,
    endedAt: NOON,
    outcome,
    crashes: 0,
    evidenceRequested: false,
    isPossiblySuperseded: false,
    ...given,
  }
}

function context(given: Partial<StepContext> = {}): StepContext {
  return {
    policy: DEFAULT_LANE_POLICY,
    memory: NOTHING,
    now: NOON,
    jitter: 0.5,
    recognisesRepeat: false,
    evidenceWaitMs: 0,
    ...given,
  }
}

function head(given: Partial<HeadRetryState> = {}): LaneMemory {
  return { ...NOTHING, head: { sequence: 7, tries: 0, budgetUsedMs: 0, resent: false, crashes: 0, ...given } }
}

describe('the next step after an attempt', () => {
  it('publishes what the network took, and remembers nothing of what was before', () => {
    const memory = { ...head({ tries: 3 }), failureStreak: { failures: 2, since: 1, messages: 1, lastSequence: 7 } }

    const step = nextStep(ended(ACCEPTED), context({ memory }))

    assert.deepEqual(step, {
      disposition: { do: 'finalize', as: 'PUBLISHED', reason: null, words: null },
      memory: NOTHING,
    })
  })

  it('keeps the very same memory when there is nothing to forget, so that nothing is written', () => {
    assert.equal(nextStep(ended(ACCEPTED), context()).memory, NOTHING)
  })

  it('fails at once what is refused for ever', () => {
    const step = nextStep(
      ended(rejected({ class: 'permanent', code: 'recipient_refused', words: 'no such number' })),
      context(),
    )

    assert.deepEqual(step.disposition, {
      do: 'finalize',
      as: 'FAILED',
      reason: 'recipient_refused',
      words: 'no such number',
    })
  })
})

describe('the next step after a transient failure', () => {
  it('tries the same message again after the first wait', () => {
    const { disposition, memory } = nextStep(ended(BUSY), context())

    assert.deepEqual(disposition, { do: 'keep-queued' })
    assert.deepEqual(memory.wait, { reason: 'retrying', words: 'come back later', until: NOON + 1_000 })
    assert.deepEqual(memory.head, { sequence: 7, tries: 1, budgetUsedMs: 1_100, resent: false, crashes: 0 })
  })

  it('counts anew for another message', () => {
    const memory = { ...NOTHING, head: { sequence: 6, tries: 5, budgetUsedMs: 10 * MINUTE, resent: true, crashes: 2 } }

    assert.equal(nextStep(ended(BUSY), context({ memory })).memory.head?.tries, 1)
  })

  it('cuts the last wait, so that the budget ends with an attempt', () => {
    const memory = head({ tries: 6, budgetUsedMs: 15 * MINUTE - 10_100 })

    assert.equal(nextStep(ended(BUSY), context({ memory })).memory.wait?.until, NOON + 10_000)
  })

  it('fails the message once its budget is used up', () => {
    const { disposition, memory } = nextStep(
      ended(BUSY),
      context({ memory: head({ budgetUsedMs: 15 * MINUTE - 100 }) }),
    )

    assert.deepEqual(disposition, {
      do: 'finalize',
      as: 'FAILED',
      reason: 'head_budget_over',
      words: 'come back later',
    })
    assert.deepEqual(memory, NOTHING)
  })

  it('charges no message for the time in which its worker was dead', () => {
    const attempt = ended(BUSY, { startedAt: NOON - 60 * MINUTE, crashes: 1 })

    assert.equal(nextStep(attempt, context()).memory.head?.budgetUsedMs, 1_000)
  })

  it('charges no message for a clock that was set back', () => {
    assert.equal(nextStep(ended(BUSY, { startedAt: NOON + MINUTE }), context()).memory.head?.budgetUsedMs, 1_000)
  })
})

describe('the next step after a failure of the connection', () => {
  const away = rejected({ class: 'connection', code: 'connection_away' })

  it('makes the lane wait longer each time, at no cost to the message', () => {
    const first = nextStep(ended(away), context())
    const second = nextStep(ended(away), context({ memory: first.memory }))

    assert.deepEqual(first.memory.wait, { reason: 'connection_away', words: 'come back later', until: NOON + 5_000 })
    assert.equal(second.memory.wait?.until, NOON + 10_000)
    assert.equal(second.memory.head, null)
    assert.deepEqual(second.disposition, { do: 'keep-queued' })
  })

  it('keeps what the message had used up before', () => {
    const memory = head({ tries: 2, budgetUsedMs: 500, resent: true })

    assert.deepEqual(nextStep(ended(away), context({ memory })).memory.head, memory.head)
  })

  it('counts failures that may be the network’s as the connection’s from the third message on', () => {
    const suspect = rejected({ class: 'transient', code: 'network_error', suspectsNetwork: true })
    const reasons: unknown[] = []
    let memory = NOTHING
    for (const sequence of [5, 6, 7]) {
      memory = nextStep(ended(suspect, { sequence }), context({ memory })).memory
      reasons.push(memory.wait?.reason)
    }

    assert.deepEqual(reasons, ['retrying', 'retrying', 'trouble'])
  })

  it('counts them as the connection’s after half a minute of one message, too', () => {
    const suspect = rejected({ class: 'transient', code: 'network_error', suspectsNetwork: true })
    const first = nextStep(ended(suspect), context())

    const now = NOON + 30_000
    const step = nextStep(ended(suspect, { startedAt: now, endedAt: now }), context({ memory: first.memory, now }))

    assert.equal(step.memory.wait?.reason, 'trouble')
  })

  it('ends the run of failures with one that is the message’s own', () => {
    const memory = { ...NOTHING, failureStreak: { failures: 2, since: NOON, messages: 2, lastSequence: 6 } }

    assert.equal(nextStep(ended(BUSY), context({ memory })).memory.failureStreak, null)
  })
})

describe('the next step after an unknown result', () => {
  it('G5: leaves the message UNCONFIRMED when there is no evidence to wait for', () => {
    const { disposition } = nextStep(ended(UNKNOWN), context())

    assert.deepEqual(disposition, { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: 'reset' })
  })

  it('G5: waits for evidence as long as the channel can give any, once', () => {
    const first = nextStep(ended(UNKNOWN), context({ evidenceWaitMs: MINUTE }))
    const second = nextStep(ended(UNKNOWN, { evidenceRequested: true }), context({ evidenceWaitMs: MINUTE }))

    assert.deepEqual(first.disposition, { do: 'await-evidence', until: NOON + MINUTE, words: 'reset' })
    assert.equal(second.disposition.do === 'finalize' && second.disposition.as, 'UNCONFIRMED')
  })

  it('G5: repeats at will what the network recognises as a repeat', () => {
    const again = nextStep(
      ended(UNKNOWN),
      context({ recognisesRepeat: true, memory: head({ resent: true, tries: 3 }) }),
    )

    assert.deepEqual(again.disposition, { do: 'keep-queued' })
    assert.equal(again.memory.wait?.reason, 'retrying')
  })

  it('G5: sends once more if the owner chose so, and never a third time', () => {
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' } as const
    const first = nextStep(ended(UNKNOWN), context({ policy }))
    const second = nextStep(ended(UNKNOWN, { number: 2 }), context({ policy, memory: first.memory }))

    assert.deepEqual([first.disposition.do, first.memory.head?.resent], ['keep-queued', true])
    assert.equal(second.disposition.do === 'finalize' && second.disposition.as, 'UNCONFIRMED')
  })

  it('G12: never repeats what was open in an older state of the database: it may have been repeated since', () => {
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' } as const
    const possiblySuperseded = ended(UNKNOWN, { isPossiblySuperseded: true })

    const dispositions = [
      nextStep(possiblySuperseded, context({ policy })).disposition,
      nextStep(possiblySuperseded, context({ recognisesRepeat: true })).disposition,
      nextStep(possiblySuperseded, context({ policy, evidenceWaitMs: MINUTE })).disposition,
    ]

    assert.deepEqual(
      dispositions.map((each) => (each.do === 'finalize' ? each.as : each.do)),
      ['UNCONFIRMED', 'UNCONFIRMED', 'await-evidence'],
    )
  })

  it('G5: marks what was sent once more as a possible duplicate', () => {
    const accepted = ended({ kind: 'accepted', networkId: 'n' })
    const resent = { memory: head({ resent: true }) }

    const reasons = [{}, resent, { ...resent, recognisesRepeat: true }].map((given) => {
      const { disposition } = nextStep(accepted, context(given))
      return disposition.do === 'finalize' && disposition.reason
    })

    assert.deepEqual(reasons, [null, 'possible_duplicate', null])
  })

  it('G10: says of what was published by evidence that no answer to the call showed it', () => {
    const found = nextStep(ended(ACCEPTED, { evidenceRequested: true }), context()).disposition
    const resent = nextStep(ended(ACCEPTED, { evidenceRequested: true }), context({ memory: head({ resent: true }) }))

    assert.deepEqual(found, { do: 'finalize', as: 'PUBLISHED', reason: 'evidence_found', words: null })
    assert.equal(resent.disposition.do === 'finalize' && resent.disposition.reason, 'possible_duplicate')
  })

  it('G5: never says FAILED once an attempt before may have arrived', () => {
    const permanent = rejected({ class: 'permanent', code: 'recipient_refused' })
    const spent = head({ resent: true, budgetUsedMs: 15 * MINUTE })

    const dispositions = [
      nextStep(ended(permanent), context({ memory: head({ resent: true }) })).disposition,
      nextStep(ended(BUSY), context({ memory: spent })).disposition,
      nextStep(ended(UNKNOWN), context({ memory: spent, recognisesRepeat: true })).disposition,
    ]

    assert.deepEqual(
      dispositions.map((each) => each.do === 'finalize' && each.as),
      ['UNCONFIRMED', 'UNCONFIRMED', 'UNCONFIRMED'],
    )
  })

  it('names the death of the worker as the reason', () => {
    const { disposition } = nextStep(ended(UNKNOWN, { crashes: 1 }), context())

    assert.equal(disposition.do === 'finalize' && disposition.reason, 'stopped_while_sending')
  })
})

describe('the next step after crashes', () => {
  it('G5 G10: ends as FAILED what was open in three crashes when every attempt is proven not sent, else as UNCONFIRMED', () => {
    const thirdCrash = (outcome: Outcome, resent: boolean) =>
      nextStep(ended(outcome, { crashes: 1 }), context({ memory: head({ crashes: 2, resent }) })).disposition

    assert.deepEqual(
      [thirdCrash(BUSY, false), thirdCrash(BUSY, true), thirdCrash(UNKNOWN, false), thirdCrash(UNKNOWN, true)],
      [
        { do: 'finalize', as: 'FAILED', reason: 'quarantined', words: 'come back later' },
        { do: 'finalize', as: 'UNCONFIRMED', reason: 'quarantined', words: 'come back later' },
        { do: 'finalize', as: 'UNCONFIRMED', reason: 'quarantined', words: 'reset' },
        { do: 'finalize', as: 'UNCONFIRMED', reason: 'quarantined', words: 'reset' },
      ],
    )
  })

  it('G5: waits for the channel’s evidence after a third crash as after any, and hands nothing over meanwhile', () => {
    const memory = head({ crashes: 2 })
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' as const }
    const given = { memory, policy, recognisesRepeat: true, evidenceWaitMs: 60_000 }

    const first = nextStep(ended(UNKNOWN, { crashes: 1 }), context(given))
    const asked = nextStep(ended(UNKNOWN, { crashes: 1, evidenceRequested: true }), context(given))
    const proven = nextStep(ended(BUSY, { crashes: 1, evidenceRequested: true }), context(given))

    assert.deepEqual(
      [first, asked, proven].map(({ disposition }) =>
        disposition.do === 'finalize' ? [disposition.as, disposition.reason] : disposition.do,
      ),
      ['await-evidence', ['UNCONFIRMED', 'quarantined'], ['FAILED', 'quarantined']],
    )
  })

  it('G5: keeps over everything that may follow a crash that an attempt may have arrived', () => {
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' as const }
    const outcomes = [
      UNKNOWN,
      rejected({ class: 'connection' }),
      rejected({ class: 'transient', suspectsNetwork: true }),
      BUSY,
    ]

    const memory = outcomes.reduce(
      (before, outcome, index) =>
        nextStep(ended(outcome, { number: index + 1, crashes: index % 2 }), context({ policy, memory: before })).memory,
      NOTHING,
    )

    assert.deepEqual([memory.head?.crashes, memory.head?.resent], [2, true])
  })

  it('believes the network, however often the worker died', () => {
    const { disposition } = nextStep(ended(ACCEPTED, { crashes: 3 }), context())

    assert.equal(disposition.do === 'finalize' && disposition.as, 'PUBLISHED')
  })

  it('remembers the crashes of a message that is tried again', () => {
    const steps = [BUSY, rejected({ class: 'connection' })].map((outcome) =>
      nextStep(ended(outcome, { crashes: 1 }), context({ memory: head({ crashes: 1 }) })),
    )

    assert.deepEqual(
      steps.map(({ memory }) => memory.head?.crashes),
      [2, 2],
    )
  })

  it('counts crashes of the message only, not of the worker at large', () => {
    const { disposition } = nextStep(ended(BUSY), context({ memory: head({ crashes: 5 }) }))

    assert.deepEqual(disposition, { do: 'keep-queued' })
  })
})

describe('the next step after a message could not be got ready', () => {
  const unready = (failure: Partial<Failure> & Pick<Failure, 'class'>, tookMs = 100): Unready => ({
    sequence: 7,
    startedAt: NOON - tookMs,
    endedAt: NOON,
    failure: { code: 'busy', words: 'come back later', suspectsNetwork: false, retryAfterMs: null, ...failure },
  })

  it.each(['permanent', 'transient', 'connection'] as const)('remembers as after an attempt: %s', (kind) => {
    const failure = { class: kind, retryAfterMs: 4_000 }

    const { memory } = afterPreparing(unready(failure), context({ memory: head({ tries: 2 }) }))

    const attempted = nextStep(ended(rejected(failure)), context({ memory: head({ tries: 2 }) }))
    assert.deepEqual(memory, attempted.memory)
  })

  it('drops it with the reason when it never can be', () => {
    const { decision } = afterPreparing(unready({ class: 'permanent', code: 'content_refused' }), context())

    assert.deepEqual(decision, { do: 'discard', as: 'FAILED', reason: 'content_refused', words: 'come back later' })
  })

  it('waits otherwise', () => {
    const { decision, memory } = afterPreparing(unready({ class: 'connection' }), context())

    assert.deepEqual(decision, { do: 'wait', memory })
    assert.equal(memory.wait?.reason, 'busy')
  })

  it('drops it when its time is used up', () => {
    const { decision } = afterPreparing(unready({ class: 'transient' }, 16 * MINUTE), context())

    assert.equal(decision.do === 'discard' && decision.reason, 'head_budget_over')
  })

  it('G5: denies nothing of an attempt before that may have arrived', () => {
    const { decision } = afterPreparing(unready({ class: 'permanent' }), context({ memory: head({ resent: true }) }))

    assert.deepEqual(decision, { do: 'discard', as: 'UNCONFIRMED', reason: 'result_unknown', words: 'come back later' })
  })
})
