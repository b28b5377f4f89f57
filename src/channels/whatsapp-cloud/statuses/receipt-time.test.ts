import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MessageId } from '../../../core/ids.ts'
import { receiptTime } from './apply-status.ts'

const NOW = Date.UTC(2026, 5, 1)
const MADE = NOW - 600_000
const DAY = 24 * 3_600_000

function opaque(madeAt: number) {
  const time = madeAt.toString(16).padStart(12, '0')
  const messageId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000` as MessageId
  return { messageId, attemptNumber: 1, form: null, recipient: null }
}

describe('the time of a report', () => {
  it.each([
    ['a moment ago', NOW - 1_000],
    ['a little ahead', NOW + 60_000],
    ['weeks ago, as what was delivered late', NOW - 36 * DAY],
  ])('is Meta’s own: %s', (_, report) => {
    assert.equal(receiptTime(report, NOW, opaque(MADE)), report)
  })

  it.each([
    ['tomorrow', NOW + DAY],
    ['long ago', NOW - 39 * DAY],
    ['none', null],
  ])('is that of the message where Meta’s cannot be, however late the report is repeated: %s', (_, report) => {
    assert.deepEqual(
      [receiptTime(report, NOW, opaque(MADE)), receiptTime(report, NOW + 600_000, opaque(MADE))],
      [MADE, MADE],
    )
  })

  it('is when it came, where nothing else is known', () => {
    assert.equal(receiptTime(null, NOW, null), NOW)
    assert.equal(receiptTime(null, NOW, opaque(NOW + DAY)), NOW)
  })
})
