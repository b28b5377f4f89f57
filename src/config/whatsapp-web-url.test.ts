import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { whatsAppWebUrl } from './whatsapp-web-url.ts'

const KEY = Buffer.alloc(32, 7)
const TEXT = KEY.toString('base64url')

describe('the URL of WhatsApp Web', () => {
  it('is that of WhatsApp, with its own certificates', () => {
    const url = 'wss://web.whatsapp.com/ws/chat'

    assert.deepEqual(whatsAppWebUrl.parse(url), { value: { url, rootKey: null } })
  })

  it.each(['127.0.0.1', '[::1]', 'localhost'])('may be that of a simulator on %s, with its key', (host) => {
    const url = `ws://${host}:4000/ws/chat`

    assert.deepEqual(whatsAppWebUrl.parse(`${url}#${TEXT}`), { value: { url, rootKey: KEY.toString('base64') } })
  })

  it.each([
    `ws://192.0.2.1/ws/chat#${TEXT}`,
    'ws://127.0.0.1/ws/chat',
    'ws://127.0.0.1/ws/chat#short',
    `wss://web.whatsapp.com/ws/chat#${TEXT}`,
    'https://web.whatsapp.com/ws/chat',
    'wss://anna:secret@web.whatsapp.com/ws/chat',
    'web.whatsapp.com',
  ])('is refused: %s', (text) => {
    assert.ok('wrong' in whatsAppWebUrl.parse(text))
  })
})
