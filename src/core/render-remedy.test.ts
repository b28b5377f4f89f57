import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ERASED } from './message/erased.ts'
import { renderRemedy } from './render-remedy.ts'

const OF = { number: '15550001000', recipient: '15551234567', messageId: 'message-1' }

describe('a next step', () => {
  it.each([
    ['Resume it: nuncio connection resume NUMBER', 'Resume it: nuncio connection resume 15550001000'],
    ['nuncio recipient unblock RECIPIENT, then retry', 'nuncio recipient unblock 15551234567, then retry'],
    ['nuncio message resolve ID --arrived', 'nuncio message resolve message-1 --arrived'],
    ['See the IDs', 'See the IDs'],
  ])('can be pasted: %s', (words, expected) => {
    assert.equal(renderRemedy(words, OF), expected)
  })

  it('names no erased recipient, and nothing that is not known', () => {
    assert.equal(renderRemedy('unblock RECIPIENT', { ...OF, recipient: ERASED }), 'unblock NUMBER')
    assert.equal(renderRemedy('unblock RECIPIENT of ID', { number: '1' }), 'unblock RECIPIENT of ID')
  })
})
