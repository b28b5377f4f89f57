import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MessageContent } from '../../core/message/message.ts'
import { fingerprint } from './fingerprint.ts'

const TEXT: MessageContent = { type: 'message', text: 'Hello' }
const IMAGE: MessageContent = { type: 'image', name: 'a.jpg', url: 'https://files.example.com/a.jpg', caption: null }

describe('the fingerprint of a message', () => {
  it('is the same for the same fields', () => {
    assert.equal(fingerprint('1', '2', TEXT), fingerprint('1', '2', { ...TEXT }))
  })

  it('differs with every field', () => {
    const prints = [
      fingerprint('1', '2', TEXT),
      fingerprint('12', '', TEXT),
      fingerprint('2', '1', TEXT),
      fingerprint('1', '2', { ...TEXT, text: 'hello' }),
      fingerprint('1', '2', IMAGE),
      fingerprint('1', '2', { ...IMAGE, type: 'document' }),
      fingerprint('1', '2', { ...IMAGE, name: 'b.jpg' }),
      fingerprint('1', '2', { ...IMAGE, url: `${IMAGE.url}?` }),
      fingerprint('1', '2', { ...IMAGE, caption: 'null' }),
    ]

    assert.equal(new Set(prints).size, prints.length)
  })
})
