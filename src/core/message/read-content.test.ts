import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { isMediaType, readContent } from './read-content.ts'

const MEDIA = { name: 'a.png', url: 'https://files.example/a.png' }

describe('the content of an accepted body', () => {
  it('is the text as it was sent', () => {
    const text = '  "quoted" \u00a0 👩‍👩‍👧\n'

    assert.deepEqual(readContent(body({ type: 'message', message: text })), { type: 'message', text })
  })

  it.each(['image', 'video', 'document'])('is the %s with its caption', (type) => {
    const content = readContent(body({ type, media: { ...MEDIA, caption: 'See' } }))

    assert.deepEqual(content, { type, ...MEDIA, caption: 'See' })
  })

  it.each([{}, { caption: '' }, { caption: null }])('has no caption from %j', (given) => {
    assert.deepEqual(readContent(body({ type: 'image', media: { ...MEDIA, ...given } })), {
      type: 'image',
      ...MEDIA,
      caption: null,
    })
  })

  it('never has a caption with audio', () => {
    assert.deepEqual(readContent(body({ type: 'audio', media: { ...MEDIA, caption: 'Hear' } })), {
      type: 'audio',
      ...MEDIA,
      caption: null,
    })
  })

  it('ignores unknown fields', () => {
    const content = readContent(
      JSON.stringify({ extra: 1, message: { type: 'message', message: 'Hello', media: null, more: true } }),
    )

    assert.deepEqual(content, { type: 'message', text: 'Hello' })
  })

  it('knows media from text', () => {
    assert.deepEqual(['image', 'document', 'video', 'audio', 'message', 'Image', ''].map(isMediaType), [
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ])
  })
})

function body(message: unknown): string {
  return JSON.stringify({ from: '15550001000', to: '15550100000', message })
}
