import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { StanzaNode } from './library.ts'
import { readReceipt } from './receipts.ts'

const SECONDS = 1_790_000_000

describe('a receipt of WhatsApp', () => {
  it.each([
    { type: undefined, kind: 'delivered' },
    { type: 'read', kind: 'read' },
    { type: 'played', kind: 'read' },
    { type: 'sender', kind: 'sent' },
  ])('of type $type is $kind, of all ids of its list', ({ type, kind }) => {
    const receipt = readReceipt(receiptOf(type, ['2', '3', '1']))

    assert.deepEqual(receipt, { wireIds: ['1', '2', '3'], kind, at: SECONDS * 1000 })
  })

  it('of another type is left to the library', () => {
    assert.equal(readReceipt(receiptOf('retry', [])), null)
  })
})

function receiptOf(type: string | undefined, more: readonly string[]): StanzaNode {
  const items = more.map((id) => ({ tag: 'item', attrs: { id } }))
  return {
    tag: 'receipt',
    attrs: { id: '1', t: String(SECONDS), type },
    content: [{ tag: 'list', attrs: {}, content: items }],
  }
}
