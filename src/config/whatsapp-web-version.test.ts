import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { whatsAppWebVersion } from './whatsapp-web-version.ts'

describe('the version of WhatsApp Web', () => {
  it('is three numbers, as WhatsApp writes it', () => {
    assert.deepEqual(whatsAppWebVersion.parse('2.3000.1043857760'), { value: '2.3000.1043857760' })
  })

  it.each(['2.3000.0', '2.2000.1', '1043857760', '2.3000.1.2', 'latest'])('is refused: %s', (text) => {
    assert.ok('wrong' in whatsAppWebVersion.parse(text))
  })
})
