import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { RetryState } from '../../message/message.ts'
import type { Failure, Outcome } from '../../ports/channel.ts'
import type { LaneMemory } from '../../ports/lanes.ts'
import { type EndedAttempt, nextStep, type StepContext } from './next-step.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const NOTHING: LaneMemory = { failureStreak: null, wait: null }
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
    isEvidenceFinal: false,
    isPossiblySuperseded: false,
    retry: null,
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

function retried(given: Partial<RetryState> = {}): { readonly retry: RetryState } {
  return { retry: { tries: 0, resent: false, crashes: 0, wait: null, ...given } }
}

/** What stays with a message that is tried again. */
function kept({ disposition }: ReturnType<typeof nextStep>): RetryState | null {
  assert.equal(disposition.do, 'keep-queued')
  return disposition.do === 'keep-queued' ? disposition.retry : null
}

describe('the next step after an attempt', () => {
  it('publishes what the network took, and remembers nothing of what was before', () => {
    const memory = { ...NOTHING, failureStreak: { failures: 2, since: 1, messages: 1 } }

    const step = nextStep(ended(ACCEPTED, retried({ tries: 3 })), context({ memory }))

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
  it('tries the same message again after the first wait, and lets the lane go on', () => {
    const step = nextStep(ended(BUSY), context())

    const wait = { kind: 'retry', reason: 'retrying', words: 'come back later', until: NOON + 1_000 }
    assert.deepEqual(kept(step), { tries: 1, resent: false, crashes: 0, wait })
    assert.equal(step.memory.wait, null)
  })

  it('fails the message with its ninth failure, after eight waits of a quarter of an hour in all', () => {
    let [retry, waitedMs]: [RetryState | null, number] = [null, 0]
    for (let tries = 1; tries < 9; tries++) {
      retry = kept(nextStep(ended(BUSY, { retry }), context()))
      waitedMs += (retry?.wait?.until ?? 0) - NOON
    }
    const { disposition } = nextStep(ended(BUSY, { retry }), context())

    const [as, reason, words] = ['FAILED', 'tries_used_up', 'come back later']
    assert.deepEqual(disposition, { do: 'finalize', as, reason, words })
    assert.deepEqual([retry?.tries, waitedMs], [8, 831_000])
  })

  it('counts no time, so a clock that is set during a call costs the message one try', () => {
    const attempt = ended(BUSY, { startedAt: NOON - 60 * MINUTE })

    assert.equal(kept(nextStep(attempt, context()))?.tries, 1)
  })

  it('leaves a recipient alone for as long as the network asks, without a try and without a word about the connection', () => {
    const memory = { ...NOTHING, failureStreak: { failures: 0, since: null, messages: 2 } }
    const limited = (retryAfterMs: number | null) =>
      ended(rejected({ class: 'recipient', retryAfterMs }), retried({ tries: 2 }))

    const steps = [limited(7_000), limited(null)].map((attempt) => nextStep(attempt, context({ memory })))

    assert.deepEqual(
      steps.map((step) => kept(step)?.wait),
      [7_000, 60_000].map((ms) => ({
        kind: 'rate-limit',
        reason: 'busy',
        words: 'come back later',
        since: NOON,
        until: NOON + ms,
      })),
    )
    assert.deepEqual([kept(steps[0]!)?.tries, steps[0]?.memory], [2, memory])
  })
})

describe('the next step after a failure of the connection', () => {
  const away = rejected({ class: 'connection', code: 'connection_away' })
  const suspect = rejected({ class: 'transient', code: 'network_error', suspectsNetwork: true })
  /** Each message fails once. Returns for what the lane waits after each. */
  const fail = (outcomes: readonly Outcome[], retry: RetryState | null = null) => {
    let memory = NOTHING
    return outcomes.map((outcome, at) => {
      memory = nextStep(ended(outcome, { sequence: at + 1, retry }), context({ memory })).memory
      return memory.wait?.reason ?? null
    })
  }

  it('makes the lane wait longer each time, at no cost to the message', () => {
    const first = nextStep(ended(away), context())
    const second = nextStep(ended(away), context({ memory: first.memory }))

    assert.deepEqual(first.memory.wait, { reason: 'connection_away', words: 'come back later', until: NOON + 5_000 })
    assert.equal(second.memory.wait?.until, NOON + 10_000)
    assert.equal(kept(second), null)
  })

  it('keeps what the message had used up before', () => {
    const { retry } = retried({ tries: 2, resent: true })

    assert.equal(kept(nextStep(ended(away, { retry }), context())), retry)
  })

  it('takes failures that may be the network’s for the connection’s from the third message on', () => {
    assert.deepEqual(fail([suspect, suspect, suspect]), [null, null, 'trouble'])
  })

  it('takes any failures for the connection’s from the tenth message in a row on', () => {
    assert.deepEqual(fail(Array(10).fill(BUSY)), [...Array(9).fill(null), 'trouble'])
    assert.deepEqual(fail([...Array(9).fill(BUSY), ACCEPTED, BUSY]), Array(11).fill(null))
  })

  it('counts a message once, at its first failure', () => {
    assert.deepEqual(fail(Array(12).fill(BUSY), retried({ tries: 1 }).retry), Array(12).fill(null))
  })

  it('takes them for the connection’s after half a minute of one message, too', () => {
    const first = nextStep(ended(suspect), context())

    const now = NOON + 30_000
    const attempt = ended(suspect, { startedAt: now, endedAt: now, retry: kept(first) })
    const step = nextStep(attempt, context({ memory: first.memory, now }))

    assert.equal(step.memory.wait?.reason, 'trouble')
  })

  it('defers the message that failed beyond the wait of its lane, so that the next probe is another message', () => {
    const failureStreak = { failures: 2, since: NOON, messages: 2 }

    const step = nextStep(ended(suspect), context({ memory: { ...NOTHING, failureStreak } }))

    assert.equal(step.memory.wait?.until, NOON + 20_000)
    assert.deepEqual([kept(step)?.tries, kept(step)?.wait?.until], [0, NOON + 21_000])
  })

  it('does not take failures of messages alone for a connection that is away', () => {
    const { memory } = nextStep(ended(BUSY), context())

    assert.deepEqual(memory.failureStreak, { failures: 0, since: null, messages: 1 })
  })
})

describe('the next step after an unknown result', () => {
  it('G5: leaves the message UNCONFIRMED when there is no evidence to wait for', () => {
    const { disposition } = nextStep(ended(UNKNOWN), context())

    assert.deepEqual(disposition, { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: 'reset' })
  })

  it('G5: waits for evidence as long as the channel can give any, once', () => {
    const first = nextStep(ended(UNKNOWN), context({ evidenceWaitMs: MINUTE }))
    const second = nextStep(ended(UNKNOWN, { isEvidenceFinal: true }), context({ evidenceWaitMs: MINUTE }))

    assert.deepEqual(first.disposition, { do: 'await-evidence', until: NOON + MINUTE, words: 'reset' })
    assert.equal(second.disposition.do === 'finalize' && second.disposition.as, 'UNCONFIRMED')
  })

  it('G5: repeats at will what the network recognises as a repeat', () => {
    const again = nextStep(ended(UNKNOWN, retried({ resent: true, tries: 3 })), context({ recognisesRepeat: true }))

    assert.deepEqual([kept(again)?.tries, kept(again)?.wait?.reason], [4, 'retrying'])
  })

  it('G5: sends once more if the owner chose so, and never a third time', () => {
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' } as const
    const first = nextStep(ended(UNKNOWN), context({ policy }))
    const second = nextStep(ended(UNKNOWN, { number: 2, retry: kept(first) }), context({ policy }))

    assert.equal(kept(first)?.resent, true)
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
    const accepted = { kind: 'accepted', networkId: 'n' } as const
    const resent = ended(accepted, retried({ resent: true }))

    const reasons = (
      [
        [ended(accepted), false],
        [resent, false],
        [resent, true],
      ] as const
    ).map(([attempt, recognisesRepeat]) => {
      const { disposition } = nextStep(attempt, context({ recognisesRepeat }))
      return disposition.do === 'finalize' && disposition.reason
    })

    assert.deepEqual(reasons, [null, 'possible_duplicate', null])
  })

  it('G10: says of what was published by evidence that no answer to the call showed it', () => {
    const found = nextStep(ended(ACCEPTED, { isEvidenceFinal: true }), context()).disposition
    const resent = nextStep(ended(ACCEPTED, { isEvidenceFinal: true, ...retried({ resent: true }) }), context())

    assert.deepEqual(found, { do: 'finalize', as: 'PUBLISHED', reason: 'evidence_found', words: null })
    assert.equal(resent.disposition.do === 'finalize' && resent.disposition.reason, 'possible_duplicate')
  })

  it('G5: never says FAILED once an attempt before may have arrived', () => {
    const permanent = rejected({ class: 'permanent', code: 'recipient_refused' })
    const spent = retried({ resent: true, tries: 8 })

    const dispositions = [
      nextStep(ended(permanent, retried({ resent: true })), context()).disposition,
      nextStep(ended(BUSY, spent), context()).disposition,
      nextStep(ended(UNKNOWN, spent), context({ recognisesRepeat: true })).disposition,
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
      nextStep(ended(outcome, { crashes: 1, ...retried({ crashes: 2, resent }) }), context()).disposition

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
    const before = retried({ crashes: 2 })
    const policy = { ...DEFAULT_LANE_POLICY, onUnconfirmed: 'resend' as const }
    const given = { policy, recognisesRepeat: true, evidenceWaitMs: 60_000 }

    const first = nextStep(ended(UNKNOWN, { crashes: 1, ...before }), context(given))
    const asked = nextStep(ended(UNKNOWN, { crashes: 1, isEvidenceFinal: true, ...before }), context(given))
    const proven = nextStep(ended(BUSY, { crashes: 1, isEvidenceFinal: true, ...before }), context(given))

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

    const retry = outcomes.reduce<RetryState | null>(
      (before, outcome, index) =>
        kept(nextStep(ended(outcome, { number: index + 1, crashes: index % 2, retry: before }), context({ policy }))),
      null,
    )

    assert.deepEqual([retry?.crashes, retry?.resent], [2, true])
  })

  it('believes the network, however often the worker died', () => {
    const { disposition } = nextStep(ended(ACCEPTED, { crashes: 3 }), context())

    assert.equal(disposition.do === 'finalize' && disposition.as, 'PUBLISHED')
  })

  it('remembers the crashes of a message that is tried again', () => {
    const steps = [BUSY, rejected({ class: 'connection' })].map((outcome) =>
      nextStep(ended(outcome, { crashes: 1, ...retried({ crashes: 1 }) }), context()),
    )

    assert.deepEqual(
      steps.map((step) => kept(step)?.crashes),
      [2, 2],
    )
  })

  it('counts crashes of the message only, not of the worker at large', () => {
    const { disposition } = nextStep(ended(BUSY, retried({ crashes: 5 })), context())

    assert.equal(disposition.do, 'keep-queued')
  })
})
