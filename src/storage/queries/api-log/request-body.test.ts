import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { isPreviewFull, previewOf, readFields } from './request-body.ts'

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

describe('the beginning of a body', () => {
  const message = {
    type: 'message',
    message: 'Two loaves and a cake, please: the one with \u2028 cherries \ud83e\udd50',
  }
  const before = { note: 'a "quoted" text '.repeat(56), from: '15550001000' }
  const whole = JSON.stringify({ ...before, to: '15550100000', message, tags: ['a', { b: [1, true] }] })
  const escaped = whole.replace('\ud83e\udd50', '\\ud83e\\udd50')

  it.each([whole, escaped])('shows every field that lies before its end, wherever it was cut', (body) => {
    assert.ok(body.indexOf('"to"') > 1_024)
    for (let end = 1_024; end < body.length; end++) {
      const start = body.slice(0, end)
      const [fields, preview] = [readFields(start), previewOf(start)]

      if (start.includes('"to":"15550100000"')) assert.equal(fields.to, '15550100000')
      if (start.includes('"type":"message"')) assert.equal(fields.type, 'message')
      if (preview?.endsWith('…')) assert.equal(preview, previewOf(body))
      else assert.ok((previewOf(body) ?? '').startsWith(preview?.trimEnd() ?? ''))
      assert.equal(isPreviewFull(start), preview?.endsWith('…') ?? false)
    }
    assert.equal(isPreviewFull(body.slice(0, body.indexOf('cherries'))), true)
  })

  it('is nothing where it is no JSON', () => {
    for (const start of ['}', '{]', '{"a" "b":{"message":', `${'['.repeat(1_500)}}`, `"${'a'.repeat(1_500)}`])
      assert.equal(previewOf(start), null)
  })
})
