import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { isOfOurPages, isOnThisMachine } from './csrf.ts'

describe('a request from this machine', () => {
  it.each(['localhost', 'localhost:8080', 'a.localhost:8080', '127.0.0.1:8080', '127.9.9.9', '[::1]:8080', '[::1]'])(
    'is this one when people write %s',
    (host) => {
      assert.equal(isOnThisMachine({ host }), true)
    },
  )

  it.each([
    '192.168.1.5:8080',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '[fe80::1]',
    'nuncio.lan',
    'a b',
    '',
    `${'a'.repeat(250)}.localhost`,
  ])('may be another when people write %s', (host) => {
    assert.equal(isOnThisMachine({ host }), false)
  })
})

describe('over https', () => {
  const origins = { publicUrl: 'https://console.example/nuncio', isSecure: true }

  it.each([
    ['the public URL', 'https://console.example', true],
    ['its own host by plain http', 'http://console.example', false],
    ['another port', 'https://console.example:444', false],
  ])('the origin of a request may be %s: %s, %s', (_, origin, expected) => {
    assert.equal(isOfOurPages('POST', { host: 'console.example', origin }, origins), expected)
  })
})
