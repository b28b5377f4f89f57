import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { applyReceipt } from './apply-receipt.ts'
import { MESSAGE_STATES, type MessageState } from './message.ts'

const STAYS = 'stays'
const CONTRARY = 'contrary'

/** What becomes of a message in each state by each report; FAILED! is a change that also contradicts what was known. */
const TABLE: Readonly<Record<MessageState, readonly [delivered: string, read: string, failed: string]>> = {
  QUEUED: [CONTRARY, CONTRARY, CONTRARY],
  SENDING: [CONTRARY, CONTRARY, CONTRARY],
  PUBLISHED: ['DELIVERED', 'READ', 'FAILED'],
  DELIVERED: [STAYS, 'READ', CONTRARY],
  READ: [STAYS, STAYS, CONTRARY],
  FAILED: ['PUBLISHED!', 'PUBLISHED!', STAYS],
  UNCONFIRMED: ['DELIVERED', 'READ', 'FAILED'],
  EXPIRED: [CONTRARY, CONTRARY, CONTRARY],
  CANCELLED: [CONTRARY, CONTRARY, CONTRARY],
}

describe('a report of the network', () => {
  it.each(MESSAGE_STATES)('moves a message that is %s only forward, and is never dropped', (state) => {
    const effects = (['delivered', 'read', 'failed'] as const).map((kind) => applyReceipt(state, { kind, code: null }))

    const words = effects.map(({ to, contrary }) => (to ? `${to}${contrary ? '!' : ''}` : contrary ? CONTRARY : STAYS))
    assert.deepEqual(words, TABLE[state])
  })

  it('gives the network’s own reason of a failure, or says what is known without it', () => {
    const failed = { kind: 'failed', code: null } as const

    assert.equal(applyReceipt('PUBLISHED', { ...failed, code: 'content_refused' }).reason, 'content_refused')
    assert.equal(applyReceipt('PUBLISHED', failed).reason, 'refused_later')
    assert.equal(applyReceipt('UNCONFIRMED', failed).reason, 'evidence_not_sent')
    assert.equal(applyReceipt('FAILED', { kind: 'read', code: null }).reason, 'evidence_found')
  })
})
