import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MessageId } from '../../../core/ids.ts'
import { readCorrelationData, writeCorrelationData } from './correlation-data.ts'

const messageId = '01989898-0000-7000-8000-000000000000' as MessageId

describe('what is sent along with a message', () => {
  it.each([
    [null, null],
    ['message', null],
    ['image', '15551234567'],
    ['audio', '155512345678901'],
    ['template', '1555123'],
  ] as const)('is read back as it was written: %s to %s', (form, recipient) => {
    const written = writeCorrelationData({ messageId, attemptNumber: 12, form, recipient })

    assert.ok(written.length <= 512)
    assert.deepEqual(readCorrelationData(written), { messageId, attemptNumber: 12, form, recipient })
  })

  it.each([
    undefined,
    null,
    7,
    {},
    '',
    messageId,
    `${messageId}#`,
    `${messageId}#0`,
    `${messageId}#1.5`,
    `${messageId}#99999999999999999999`,
    `${messageId}#1#`,
    `${messageId}#1#constructor`,
    `${messageId}#1#image#more`,
    `${messageId}#1#image#0555123456`,
    `${messageId}#1#image#15551234567#more`,
    `${messageId}#1##15551234567`,
    ` ${messageId}#1`,
    `${messageId}#1\n`,
    `${messageId.toUpperCase()}x#1`,
    `order-4711#1`,
  ])('is not taken for ours when it was written by others: %s', (text) => {
    assert.equal(readCorrelationData(text), null)
  })
})
