import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { applyReceipt, type KnownMessage, type ReceiptEffect } from './apply-receipt.ts'
import { MESSAGE_STATES, type MessageState } from './message.ts'

const STAYS = 'stays'
const CONTRARY = 'contrary'
const SILENT = 'says nothing new'

/** What becomes of a message in each state by each report; PUBLISHED! is a change that also contradicts what was known. */
const TABLE: Readonly<Record<MessageState, readonly [sent: string, delivered: string, read: string, failed: string]>> =
  {
    QUEUED: [CONTRARY, CONTRARY, CONTRARY, CONTRARY],
    SENDING: [CONTRARY, CONTRARY, CONTRARY, CONTRARY],
    PUBLISHED: [SILENT, 'DELIVERED', 'READ', 'FAILED'],
    DELIVERED: [SILENT, STAYS, 'READ', CONTRARY],
    READ: [SILENT, STAYS, STAYS, CONTRARY],
    FAILED: ['PUBLISHED!', 'PUBLISHED!', 'PUBLISHED!', STAYS],
    UNCONFIRMED: ['PUBLISHED', 'DELIVERED', 'READ', 'FAILED'],
    EXPIRED: [CONTRARY, CONTRARY, CONTRARY, CONTRARY],
    CANCELLED: [CONTRARY, CONTRARY, CONTRARY, CONTRARY],
  }

describe('a report of the network', () => {
  it.each(MESSAGE_STATES)('moves a message that is %s only forward, and is never dropped', (state) => {
    const effects = (['sent', 'delivered', 'read', 'failed'] as const).map((kind) =>
      applyReceipt(known(state), { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(effects.map(inWords), TABLE[state])
  })

  it('gives the network’s own reason of a failure, or says what is known without it', () => {
    const failed = { kind: 'failed', code: null, attemptNumber: null } as const

    assert.equal(applyReceipt(known('PUBLISHED'), { ...failed, code: 'content_refused' }).reason, 'content_refused')
    assert.equal(applyReceipt(known('PUBLISHED'), failed).reason, 'refused_later')
    assert.equal(applyReceipt(known('UNCONFIRMED'), failed).reason, 'evidence_not_sent')
    assert.equal(applyReceipt(known('FAILED'), { ...failed, kind: 'read' }).reason, 'evidence_found')
    assert.equal(applyReceipt(known('UNCONFIRMED'), { ...failed, kind: 'sent' }).reason, 'evidence_found')
  })

  it.each(MESSAGE_STATES)('G5: that another attempt failed says nothing of a message that is %s', (state) => {
    const after = [1, 3].map((attemptNumber) =>
      applyReceipt({ ...known(state), attempts: 2 }, { kind: 'failed', code: null, attemptNumber }),
    )

    assert.deepEqual(after.map(inWords), [CONTRARY, CONTRARY])
  })

  it('G5: does not say that a message failed whose attempt before may have arrived', () => {
    const failed = { kind: 'failed', code: null, attemptNumber: 2 } as const
    const after = (['PUBLISHED', 'UNCONFIRMED'] as const).map((state) =>
      applyReceipt({ ...known(state), attempts: 2, mayHaveArrivedBefore: true }, failed),
    )

    assert.deepEqual(after.map(inWords), ['UNCONFIRMED', STAYS])
  })

  it('counts a message as arrived whichever of its attempts it was', () => {
    const arrived = (['sent', 'delivered', 'read'] as const).map((kind) =>
      applyReceipt({ ...known('UNCONFIRMED'), attempts: 2 }, { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(arrived.map(inWords), ['PUBLISHED', 'DELIVERED', 'READ'])
  })

  it('does not take it back that a message failed because an earlier report comes last', () => {
    const failedLater = { ...known('FAILED'), wasReportedFailed: true }

    const after = (['sent', 'delivered'] as const).map((kind) =>
      applyReceipt(failedLater, { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(after.map(inWords), [SILENT, 'PUBLISHED!'])
  })
})

function known(state: MessageState): KnownMessage {
  return { state, attempts: 1, wasReportedFailed: false, mayHaveArrivedBefore: false }
}

function inWords({ to, contrary, isTold }: ReceiptEffect): string {
  if (!isTold) return SILENT
  if (to) return `${to}${contrary ? '!' : ''}`
  return contrary ? CONTRARY : STAYS
}
