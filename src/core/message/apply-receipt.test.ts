import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  applyReceipt,
  type KnownMessage,
  MOST_REPORTED,
  MOST_REPORTED_FAILURES,
  type ReceiptEffect,
} from './apply-receipt.ts'
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
      applied(known(state), { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(effects.map(inText), TABLE[state])
  })

  it('gives the network’s own reason of a failure, or says what is known without it', () => {
    const failed = { kind: 'failed', code: null, attemptNumber: null } as const

    assert.equal(applied(known('PUBLISHED'), { ...failed, code: 'content_refused' }).reason, 'content_refused')
    assert.equal(applied(known('PUBLISHED'), failed).reason, 'refused_later')
    assert.equal(applied(known('UNCONFIRMED'), failed).reason, 'evidence_not_sent')
    assert.equal(applied(known('FAILED'), { ...failed, kind: 'read' }).reason, 'evidence_found')
    assert.equal(applied(known('UNCONFIRMED'), { ...failed, kind: 'sent' }).reason, 'evidence_found')
  })

  it.each(MESSAGE_STATES)('G5: that another attempt failed says nothing of a message that is %s', (state) => {
    const after = [1, 3].map((attemptNumber) =>
      applied({ ...known(state), attempts: 2 }, { kind: 'failed', code: null, attemptNumber }),
    )

    assert.deepEqual(after.map(inText), [CONTRARY, CONTRARY])
  })

  it('G5: does not say that a message failed of which another attempt may have arrived', () => {
    const failed = { kind: 'failed', code: null, attemptNumber: 2 } as const
    const after = (['PUBLISHED', 'UNCONFIRMED'] as const).map((state) =>
      applied({ ...known(state), attempts: 2, mayHaveArrivedOtherwise: true }, failed),
    )

    assert.deepEqual(after.map(inText), ['UNCONFIRMED', STAYS])
  })

  it('G5: ends what waits to be handed over once more, but not because an attempt of it failed', () => {
    const waiting = { ...known('QUEUED'), waitsToBeRepeated: true }
    const after = (['sent', 'delivered', 'read', 'failed'] as const).map((kind) =>
      applied(waiting, { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(after.map(inText), ['PUBLISHED', 'DELIVERED', 'READ', CONTRARY])
    assert.equal(after[1]?.reason, 'evidence_found')
  })

  it('G12: takes an unknown attempt for one that was made before the database was set back', () => {
    const forgotten = (state: MessageState) =>
      (['sent', 'delivered', 'read', 'failed'] as const).map((kind) =>
        applied({ ...known(state), attempts: 0 }, { kind, code: null, attemptNumber: 1 }),
      )
    const arrived = ['PUBLISHED', 'DELIVERED', 'READ', CONTRARY]

    assert.deepEqual(forgotten('QUEUED').map(inText), arrived)
    assert.deepEqual(forgotten('EXPIRED').map(inText), arrived)
    assert.deepEqual(forgotten('CANCELLED').map(inText), arrived)
    assert.equal(forgotten('QUEUED')[0]?.reason, 'evidence_found')
  })

  it('counts a message as arrived whichever of its attempts it was', () => {
    const arrived = (['sent', 'delivered', 'read'] as const).map((kind) =>
      applied({ ...known('UNCONFIRMED'), attempts: 2 }, { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(arrived.map(inText), ['PUBLISHED', 'DELIVERED', 'READ'])
  })

  it('is ignored after many, unless it moves a message forward or is its first failure', () => {
    const limits = (state: MessageState) =>
      (['delivered', 'failed'] as const).map(
        (kind) => applied(known(state), { kind, code: null, attemptNumber: 1 }).mostReported,
      )

    assert.deepEqual(limits('PUBLISHED'), [null, MOST_REPORTED_FAILURES])
    assert.deepEqual(limits('FAILED'), [null, MOST_REPORTED])
    assert.deepEqual(limits('READ'), [MOST_REPORTED, MOST_REPORTED])
    // Evidence, and then DELIVERED and READ: all reports that count beyond the first limit without a failure.
    assert.ok(MOST_REPORTED_FAILURES > MOST_REPORTED + 3)
  })

  it('does not take it back that a message failed because an earlier report comes last', () => {
    const failedLater = { ...known('FAILED'), wasReportedFailed: true }

    const after = (['sent', 'delivered'] as const).map((kind) =>
      applied(failedLater, { kind, code: null, attemptNumber: 1 }),
    )

    assert.deepEqual(after.map(inText), [SILENT, 'PUBLISHED!'])
  })

  it('says which reports of one attempt contradict each other', () => {
    const ends = [
      conflict(known('DELIVERED'), { kind: 'failed' }),
      conflict(known('READ'), { kind: 'failed' }),
      conflict({ ...known('FAILED'), wasReportedFailed: true }, { kind: 'delivered' }),
      // Reports overtake each other, and what was refused at once was not reported.
      conflict({ ...known('FAILED'), wasReportedFailed: true }, { kind: 'sent' }),
      conflict(known('FAILED'), { kind: 'delivered' }),
      conflict(known('DELIVERED'), { kind: 'read' }),
      // One of two attempts may have failed and the other arrived.
      conflict({ ...known('DELIVERED'), attempts: 2 }, { kind: 'failed', attemptNumber: 2 }),
    ]

    assert.deepEqual(ends, ['opposite', 'opposite', 'opposite', null, null, null, null])
  })

  it('says when the network knows the only attempt of a message by a second id, and always keeps it', () => {
    const one = { ...known('PUBLISHED'), networkId: 'one' }
    const two = { kind: 'sent', code: null, attemptNumber: 1, networkId: 'two' } as const

    assert.deepEqual(
      [
        conflict(one, two),
        conflict(one, { ...two, kind: 'read' }),
        conflict(one, { ...two, networkId: 'one' }),
        conflict(one, { ...two, networkId: null }),
        conflict(known('PUBLISHED'), two),
        conflict({ ...one, attempts: 2 }, two),
      ],
      ['second-id', 'second-id', null, null, null, null],
    )
    assert.deepEqual(
      (['sent', 'delivered', 'read'] as const).map((kind) => inText(applyReceipt(one, { ...two, kind }))),
      [CONTRARY, 'DELIVERED', 'READ'],
    )
  })
})

function conflict(of: KnownMessage, receipt: Partial<Parameters<typeof applyReceipt>[1]>): ReceiptEffect['conflict'] {
  return applyReceipt(of, { kind: 'sent', code: null, attemptNumber: 1, networkId: null, ...receipt }).conflict
}

function known(state: MessageState): KnownMessage {
  return {
    state,
    attempts: 1,
    wasReportedFailed: false,
    networkId: null,
    mayHaveArrivedOtherwise: false,
    waitsToBeRepeated: false,
  }
}

function inText({ to, contrary, isNew }: ReceiptEffect): string {
  if (!isNew) return SILENT
  if (to) return `${to}${contrary ? '!' : ''}`
  return contrary ? CONTRARY : STAYS
}

/** Of a network that names no id of its own. */
function applied(of: KnownMessage, receipt: Omit<Parameters<typeof applyReceipt>[1], 'networkId'>): ReceiptEffect {
  return applyReceipt(of, { ...receipt, networkId: null })
}
