import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { OwnWait } from '../../message/message.ts'
import type { Evidence } from '../../ports/channel.ts'
import type { StartedAttempt } from './describe-attempt.ts'
import { discountEvidence, recordOf } from './describe-attempt.ts'

const NOT_SENT: Evidence = { kind: 'not-sent', words: 'it is unknown there' }
const ACCEPTED = { kind: 'accepted', networkId: 'net-1' } as const
const weighed = (evidence: Evidence, isPossiblySuperseded: boolean) =>
  discountEvidence(evidence, { isPossiblySuperseded } as StartedAttempt)

const ENDED = {
  sequence: 7,
  number: 1,
  startedAt: 1,
  endedAt: 2,
  crashes: 0,
  isPossiblySuperseded: false,
  isEvidenceFinal: false,
  retry: null,
} as const

describe('the record of an attempt', () => {
  it('G10: says what its message waited for itself and since when, but for its next try', () => {
    const factsAfter = (wait: OwnWait) =>
      recordOf({ ...ENDED, outcome: ACCEPTED, retry: { tries: 1, resent: false, crashes: 0, wait } }).facts
    const wait = { reason: 'new_recipients', words: null, until: 90 }

    const facts = { waitedFor: 'new_recipients', waitedSince: 30, waitedUntil: 90 }
    assert.deepEqual(factsAfter({ kind: 'rate-limit', since: 30, ...wait }), facts)
    assert.deepEqual(
      [factsAfter({ kind: 'retry', ...wait }), recordOf({ ...ENDED, outcome: ACCEPTED }).facts],
      [undefined, undefined],
    )
  })
})

describe('evidence', () => {
  it('G12: that a message was not sent counts for nothing when the database may have gone back since', () => {
    assert.deepEqual(weighed(NOT_SENT, true), { kind: 'nothing-ever' })
    assert.deepEqual(weighed(NOT_SENT, false), NOT_SENT)
  })

  it('G10: stands in the record of an attempt that was accepted by it, and of no other', () => {
    const codeOf = (isEvidenceFinal: boolean) => recordOf({ ...ENDED, outcome: ACCEPTED, isEvidenceFinal }).code

    assert.deepEqual([codeOf(true), codeOf(false)], ['evidence_found', null])
  })

  it('that a message was sent always counts', () => {
    assert.deepEqual([weighed(ACCEPTED, true), weighed(ACCEPTED, false)], [ACCEPTED, ACCEPTED])
  })
})
