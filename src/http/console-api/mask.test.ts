import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { z } from 'zod'
import { plain } from '../../contract/console/viewer-text.ts'
import { maskBody, maskFileName, maskNumber, maskText, maskUrl, showTo } from './mask.ts'

describe('what a viewer may not see', () => {
  it.each([
    ['15550100001', '1555•••0001'],
    ['4917612345678', '4917•••5678'],
    ['1234567', '•••4567'],
    ['12345678', '1•••5678'],
    ['+1 555 010 0001', '1555•••0001'],
    ['123', '•••'],
    ['Anna Example', '•••'],
  ])('the recipient %s reads as %s', (number, shown) => {
    assert.equal(maskNumber(number), shown)
  })

  it.each([
    ['Error 131026: 15550100001 is not on the network', 'Error 131026: 1555•••0001 is not on the network'],
    ['to +1 555-010-0001 or (555) 010 0001', 'to 1555•••0001 or (555•••0001'],
    ['took 1200 ms', 'took 1200 ms'],
  ])('the words “%s” read as “%s”', (words, shown) => {
    assert.equal(maskText(words), shown)
  })

  it('of a body only the names of its fields and a known type stay', () => {
    const media = { name: 'invoice of Anna.pdf', url: 'https://files.example/anna/1.pdf', caption: 'Dear Anna' }
    const body = {
      from: '15550001000',
      to: '15550100001',
      message: { type: 'document', media, 'for Anna': ['Anna', 5550100001, true, null] },
    }

    assert.deepEqual(JSON.parse(maskBody(JSON.stringify(body))), {
      from: '1555•••1000',
      to: '1555•••0001',
      message: {
        type: 'document',
        media: { name: '•••', url: '•••', caption: '•••' },
        '•••': ['•••', '•••', true, null],
      },
    })
    assert.equal(maskBody('to=15550100001&text=Dear Anna'), '•••')
    assert.deepEqual(JSON.parse(maskBody('{"from":"Dear Anna","message":{"type":"anna"}}')), {
      from: '•••',
      message: { type: '•••' },
    })
  })

  it('of media its host and the kind of file stay', () => {
    assert.equal(maskUrl('https://files.example:8443/anna/1.pdf?sig=secret'), 'https://files.example:8443/•••')
    assert.equal(maskUrl('nonsense'), '•••')
    assert.equal(maskFileName('invoice of Anna.pdf'), '•••.pdf')
    assert.equal(maskFileName('Anna'), '•••')
  })

  it('is no text that the contract gives no form', () => {
    const schema = z.object({ id: plain, note: z.string() })

    assert.throws(() => showTo('viewer', schema, { id: '1', note: 'Dear Anna' }), /holds a string without a form/)
    assert.deepEqual(showTo('developer', schema, { id: '1', note: 'Dear Anna' }), { id: '1', note: 'Dear Anna' })
  })

  it('is no field that the contract does not name', () => {
    const given = { id: '1', note: 'Dear Anna' }

    assert.deepEqual(showTo('viewer', z.object({ id: plain }), given), { id: '1' })
  })
})
