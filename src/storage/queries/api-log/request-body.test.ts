import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { previewOf } from './request-body.ts'

const text = (message: unknown) => JSON.stringify({ message: { type: 'message', message } })

describe('the preview of a message', () => {
  it('is its text in one line', () => {
    assert.equal(previewOf(text('Hello Ben,\n your bread  is ready')), 'Hello Ben, your bread is ready')
  })

  it('has at most 40 characters, and cuts none in two', () => {
    assert.equal(previewOf(text('🥐'.repeat(41))), `${'🥐'.repeat(40)}…`)
    assert.equal(previewOf(text('a'.repeat(40))), 'a'.repeat(40))
  })

  it('is the name and the caption of a file', () => {
    const media = { name: 'loaf.jpg', url: 'https://files.example/loaf.jpg', caption: 'Two loaves' }

    assert.equal(previewOf(JSON.stringify({ message: { type: 'image', media } })), 'loaf.jpg · Two loaves')
    assert.equal(previewOf(JSON.stringify({ message: { media: { ...media, caption: null } } })), 'loaf.jpg')
  })

  it.each([
    null,
    '',
    'no JSON',
    '[]',
    '{"message":7}',
    text({}),
    text(' '),
    '{"message":{"__proto__":{"message":"x"}}}',
  ])('is nothing for %s', (body) => {
    assert.equal(previewOf(body), null)
  })
})
