import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../connection/lane-policy.ts'
import type { RetryState } from '../../message/message.ts'
import type { Failure } from '../../ports/channel.ts'
import { afterPreparing, type EndedAttempt, nextStep, type StepContext, type Unready } from './next-step.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const CONTEXT: StepContext = {
  policy: DEFAULT_LANE_POLICY,
  memory: { failureStreak: null, wait: null },
  now: NOON,
  jitter: 0.5,
  recognisesRepeat: false,
  evidenceWaitMs: 0,
}

function retried(given: Partial<RetryState>): RetryState {
  return { tries: 0, resent: false, crashes: 0, wait: null, ...given }
}

describe('the next step after a message could not be got ready', () => {
  const unready = (failure: Partial<Failure> & Pick<Failure, 'class'>, retry: RetryState | null = null): Unready => ({
    sequence: 7,
    startedAt: NOON - 100,
    endedAt: NOON,
    retry,
    failure: { code: 'busy', words: 'come back later', suspectsNetwork: false, retryAfterMs: null, ...failure },
  })

  it.each(['permanent', 'transient', 'connection'] as const)('remembers as after an attempt: %s', (kind) => {
    const failure = { class: kind, retryAfterMs: 4_000 }

    const retry = retried({ tries: 2 })
    const { decision, memory } = afterPreparing(unready(failure, retry), CONTEXT)

    const attempted = nextStep(ended(unready(failure, retry)), CONTEXT)
    assert.deepEqual(memory, attempted.memory)
    const { disposition } = attempted
    if (decision.do === 'defer') assert.deepEqual(disposition, { do: 'keep-queued', retry: decision.retry })
  })

  it('drops it with the reason when it never can be', () => {
    const { decision } = afterPreparing(unready({ class: 'permanent', code: 'content_refused' }), CONTEXT)

    assert.deepEqual(decision, { do: 'discard', as: 'FAILED', reason: 'content_refused', words: 'come back later' })
  })

  it('makes the lane wait for its connection, and else only the message', () => {
    const { decision, memory } = afterPreparing(unready({ class: 'connection' }), CONTEXT)
    const own = afterPreparing(unready({ class: 'transient' }), CONTEXT)

    assert.deepEqual(decision, { do: 'wait', memory })
    assert.equal(memory.wait?.reason, 'busy')
    assert.deepEqual(own.decision.do === 'defer' && own.decision.until, NOON + 1_000)
  })

  it('drops it with the ninth failure', () => {
    const { decision } = afterPreparing(unready({ class: 'transient' }, retried({ tries: 8 })), CONTEXT)

    assert.equal(decision.do === 'discard' && decision.reason, 'tries_used_up')
  })

  it('G5: denies nothing of an attempt before that may have arrived', () => {
    const { decision } = afterPreparing(unready({ class: 'permanent' }, retried({ resent: true })), CONTEXT)

    assert.deepEqual(decision, { do: 'discard', as: 'UNCONFIRMED', reason: 'result_unknown', words: 'come back later' })
  })
})

/** The same failure, of an attempt. */
function ended({ failure, ...unready }: Unready): EndedAttempt {
  const outcome = { kind: 'rejected', failure } as const
  return { ...unready, number: 1, outcome, crashes: 0, isEvidenceFinal: false, isPossiblySuperseded: false }
}
