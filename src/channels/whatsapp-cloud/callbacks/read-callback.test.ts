import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readCallback } from './read-callback.ts'

const OPAQUE = '01989898-0000-7000-8000-000000000000#2#image'
const OF = { phone_number_id: '106540352242922' }

function callback(...changes: readonly unknown[]): unknown {
  return { object: 'whatsapp_business_account', entry: [{ id: '102290129340398', time: 1_750_000_000, changes }] }
}

function messages(value: object): unknown {
  return callback({ field: 'messages', value: { metadata: OF, ...value } })
}

function ignoredOf(body: unknown): Record<string, number> {
  return Object.fromEntries(readCallback(body).ignored)
}

describe('the content of a callback', () => {
  it('is read as Meta’s page has it', () => {
    const error = {
      code: 131_053,
      title: 'Media upload error',
      message: 'Media upload error',
      error_data: { details: 'The file is too large.' },
      href: 'https://developers.facebook.com/',
    }
    const status = {
      id: 'wamid.HBgL',
      status: 'failed',
      timestamp: '1750030073',
      recipient_id: '16505551234',
      biz_opaque_callback_data: OPAQUE,
      conversation: { id: 'c', origin: { type: 'utility' } },
      pricing: { billable: true },
      errors: [error],
    }

    const { parts, ignored } = readCallback(messages({ statuses: [status] }))

    assert.equal(ignored.size, 0)
    assert.deepEqual(parts, [
      {
        about: { phoneNumberId: '106540352242922' },
        report: {
          statuses: [
            {
              kind: 'failed',
              wamid: 'wamid.HBgL',
              at: 1_750_030_073_000,
              opaque: OPAQUE,
              recipient: '16505551234',
              code: 131_053,
              words: '(131053) Media upload error: The file is too large.',
            },
          ],
          writers: [],
          numbers: [],
        },
      },
    ])
  })

  it.each([
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
  ])('has four kinds of status: %s is %s', (status, kind) => {
    const { parts } = readCallback(messages({ statuses: [{ id: 'wamid.A', status, errors: [{ code: 1 }] }] }))

    assert.deepEqual(
      parts[0]?.report.statuses.map((report) => [report.kind, report.code]),
      [[kind, null]],
    )
  })

  it('keeps the rest when a part is not understood, and counts it', () => {
    const good = { id: 'wamid.A', status: 'read' }
    const odd = [
      null,
      [],
      { ...good, status: 'warning' },
      { ...good, id: '' },
      { ...good, biz_opaque_callback_data: 'x' },
    ]
    const body = callback(
      { field: 'history', value: {} },
      null,
      { field: 'messages', value: { metadata: OF, statuses: [...odd, good], messages: [{ from: 'US.1349' }] } },
      { field: 'messages', value: { statuses: [good] } },
    )

    assert.equal(readCallback(body).parts[0]?.report.statuses.length, 1)
    assert.deepEqual(ignoredOf(body), { field_unknown: 1, part_malformed: 5, status_unknown: 1, not_ours: 2 })
  })

  it.each<[string, unknown[]]>([
    ['none', []],
    ['no list', { length: 1 } as never],
    ['no object', ['131026']],
    ['a code that is none', [{ code: '131026' }]],
    ['a huge code', [{ code: 1e300 }]],
  ])('takes a failure without a code it can trust: %s', (_, errors) => {
    const { parts } = readCallback(messages({ statuses: [{ id: 'wamid.A', status: 'failed', errors }] }))

    assert.deepEqual(parts[0]?.report.statuses[0]?.code, null)
  })

  it('keeps no more of Meta’s words than there is room for, in whole characters', () => {
    const errors = [{ code: 1, title: '😀'.repeat(400) }]
    const { parts } = readCallback(messages({ statuses: [{ id: 'wamid.A', status: 'failed', errors }] }))
    const words = parts[0]?.report.statuses[0]?.words ?? ''

    assert.ok(words.length <= 500 && words.isWellFormed())
  })

  it('stops counting on more than Meta ever sends', () => {
    const statuses = Array.from({ length: 40_000 }, (_, i) => ({ id: `wamid.${i}`, status: 'sent' }))
    const updates = Array.from({ length: 200 }, () => ({ field: 'account_update', value: { event: 'X' } }))

    assert.deepEqual(ignoredOf(messages({ statuses })), { too_many: 10_000 })
    assert.deepEqual(ignoredOf(callback(...updates)), { too_many: 100 })
  })
})
