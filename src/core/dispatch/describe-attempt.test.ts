import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Evidence } from '../ports/channel.ts'
import type { Begun } from './describe-attempt.ts'
import { weigh } from './describe-attempt.ts'

const NOT_SENT: Evidence = { kind: 'not-sent', words: 'nobody knows of it' }
const ACCEPTED: Evidence = { kind: 'accepted', networkId: 'net-1' }
const weighed = (evidence: Evidence, isDoubted: boolean) => weigh(evidence, { isDoubted } as Begun)

describe('evidence', () => {
  it('G12: that a message was not sent counts for nothing when the database may have gone back since', () => {
    assert.deepEqual(weighed(NOT_SENT, true), { kind: 'nothing-ever' })
    assert.deepEqual(weighed(NOT_SENT, false), NOT_SENT)
  })

  it('that a message was sent always counts', () => {
    assert.deepEqual([weighed(ACCEPTED, true), weighed(ACCEPTED, false)], [ACCEPTED, ACCEPTED])
  })
})
