import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { parseSendMessage } from './send-message.ts'

const FROM = '14155550100'
const TO = '14155550123'
const URL = 'https://files.example.com/a.jpg'
const text = (message: unknown) => ({ from: FROM, to: TO, message: { type: 'message', message } })
const media = (fields: object, type = 'image') => ({
  from: FROM,
  to: TO,
  message: { type, media: { name: 'a.jpg', url: URL, ...fields } },
})

/** Field and code of everything that is wrong. */
function errorsOf(body: unknown): readonly (readonly [string | null, string])[] {
  const parsed = parseSendMessage(body)
  return parsed.ok ? [] : parsed.errors.map(({ field, code }) => [field, code] as const)
}

function messageOf(body: unknown): string {
  const parsed = parseSendMessage(body)
  return parsed.ok ? '' : (parsed.errors[0]?.message ?? '')
}

describe('a request to send', () => {
  it.each([
    ['text', text('Hello')],
    ['one character', text('a')],
    ['4,096 characters, each of two units', text('😀'.repeat(4096))],
    ['line breaks and tabs', text('a\r\n\tb')],
    ['a zero-width joiner', text('👩‍👩‍👧')],
    ['an image', media({})],
    ['a caption of 1,024 characters', media({ caption: '😀'.repeat(1024) })],
    ['an empty caption', media({ caption: '' })],
    ['no caption by null', media({ caption: null })],
    ['audio with a caption that no other type may have', media({ caption: '\u0000'.repeat(2000) }, 'audio')],
    ['a name of 255 bytes', media({ name: `${'ä'.repeat(125)}a.jpg` })],
    ['a name with two extensions', media({ name: 'x.jpg.exe' })],
    ['a name with blanks', media({ name: 'My photo (1).jpg' })],
    ['an address in capitals', media({ url: 'HTTPS://FILES.EXAMPLE.COM/a' })],
    ['unused fields that say nothing', { ...text('a'), message: { type: 'message', message: 'a', media: '' } }],
    ['an unused text by null', { ...media({}), message: { ...media({}).message, message: null } }],
    ['an unused text that is empty', { ...media({}), message: { ...media({}).message, message: '' } }],
    ['unknown fields everywhere', { ...media({ other: 1 }), other: { deep: [] } }],
    ['7 digits', { ...text('a'), to: '1234567' }],
    ['15 digits', { ...text('a'), to: '123456789012345' }],
  ])('is fine: %s', (_, body) => {
    assert.deepEqual(errorsOf(body), [])
  })

  it.each<[string, unknown, readonly (readonly [string | null, string])[]]>([
    ['no object', [], [[null, 'body_not_object']]],
    [
      'nothing in it',
      {},
      [
        ['from', 'field_required'],
        ['to', 'field_required'],
        ['message', 'field_required'],
      ],
    ],
    [
      'nulls',
      { from: null, to: null, message: null },
      [
        ['from', 'field_required'],
        ['to', 'field_required'],
        ['message', 'field_required'],
      ],
    ],
    [
      'other kinds',
      { from: 1, to: true, message: 'a' },
      [
        ['from', 'field_wrong_type'],
        ['to', 'field_wrong_type'],
        ['message', 'field_wrong_type'],
      ],
    ],
    ['no type', { from: FROM, to: TO, message: {} }, [['message.type', 'field_required']]],
    ['an unknown type', { from: FROM, to: TO, message: { type: 'sticker' } }, [['message.type', 'type_unknown']]],
    ['a type in capitals', { from: FROM, to: TO, message: { type: 'Image' } }, [['message.type', 'type_unknown']]],
    ['a type that is a number', { from: FROM, to: TO, message: { type: 1 } }, [['message.type', 'field_wrong_type']]],
    [
      'a type that every object inherits',
      { from: FROM, to: TO, message: { type: 'constructor' } },
      [['message.type', 'type_unknown']],
    ],
    ['no text', text(undefined), [['message.message', 'field_required']]],
    ['an empty text', text(''), [['message.message', 'text_empty']]],
    ['white space only', text(' \t\n\u00a0\u3000'), [['message.message', 'text_empty']]],
    ...['\u200b', '\u2060', '\ufeff', '\u00ad\u200e \u3164', '\u2800', '\ufe0f', '\u{e0001}\u{e007f}'].map(
      (invisible): [string, unknown, [[string, string]]] => [
        `a text of ${encodeURIComponent(invisible)} only`,
        text(invisible),
        [['message.message', 'text_empty']],
      ],
    ),
    [
      'a caption of invisible characters',
      media({ caption: '\u200b\u2060' }),
      [['message.media.caption', 'text_empty']],
    ],
    ['4,097 characters', text('a'.repeat(4097)), [['message.message', 'text_too_long']]],
    ['a bell', text('a\u0007'), [['message.message', 'text_has_control']]],
    ['an escape sequence', text('\u001b[31m'), [['message.message', 'text_has_control']]],
    ['a control character of the second block', text('a\u0085'), [['message.message', 'text_has_control']]],
    ['half a character', text('a\ud83d'), [['message.message', 'text_not_unicode']]],
    [
      'text with media beside',
      { ...text('a'), message: { type: 'message', message: 'a', media: {} } },
      [['message.media', 'field_unused']],
    ],
    [
      'media with text beside',
      { ...media({}), message: { ...media({}).message, message: 'a' } },
      [['message.message', 'field_unused']],
    ],
    ['no media', { from: FROM, to: TO, message: { type: 'video' } }, [['message.media', 'field_required']]],
    [
      'media that are empty',
      { from: FROM, to: TO, message: { type: 'audio', media: {} } },
      [
        ['message.media.name', 'field_required'],
        ['message.media.url', 'field_required'],
      ],
    ],
    [
      'a caption of 1,025 characters',
      media({ caption: 'a'.repeat(1025) }),
      [['message.media.caption', 'text_too_long']],
    ],
    ['a caption of white space', media({ caption: ' ' }), [['message.media.caption', 'text_empty']]],
    ['a caption of another kind', media({ caption: 5 }), [['message.media.caption', 'field_wrong_type']]],
    [
      'an audio caption of another kind',
      media({ caption: 5 }, 'audio'),
      [['message.media.caption', 'field_wrong_type']],
    ],
    ['a name of 256 bytes', media({ name: `${'ä'.repeat(126)}.jpg` }), [['message.media.name', 'name_malformed']]],
    ['an empty name', media({ name: '' }), [['message.media.name', 'name_malformed']]],
    ['a name that is only an extension', media({ name: '.jpg' }), [['message.media.name', 'name_malformed']]],
    ['a name that ends with a dot', media({ name: 'a.' }), [['message.media.name', 'name_malformed']]],
    ['a name with a path', media({ name: '../a.jpg' }), [['message.media.name', 'name_malformed']]],
    ['a name with a line break', media({ name: 'a\n.jpg' }), [['message.media.name', 'name_malformed']]],
    ['a name that shows backwards', media({ name: 'a\u202egpj.exe' }), [['message.media.name', 'name_malformed']]],
    ['a name with half a character', media({ name: 'a\ud83d.jpg' }), [['message.media.name', 'text_not_unicode']]],
    ['a path for an address', media({ url: '/a.jpg' }), [['message.media.url', 'url_malformed']]],
    ['another scheme', media({ url: 'ftp://example.com/a' }), [['message.media.url', 'url_malformed']]],
    [
      'an address of 2,049 characters',
      media({ url: `https://a.example/${'a'.repeat(2031)}` }),
      [['message.media.url', 'url_malformed']],
    ],
  ])('is refused: %s', (_, body, errors) => {
    assert.deepEqual(errorsOf(body), errors)
  })

  it('has all its errors reported together', () => {
    const body = {
      from: '+1',
      to: '',
      message: { type: 'document', message: 'a', media: { name: 'a', url: 'a', caption: 1 } },
    }

    assert.deepEqual(errorsOf(body), [
      ['from', 'number_malformed'],
      ['to', 'number_malformed'],
      ['message.message', 'field_unused'],
      ['message.media.name', 'name_malformed'],
      ['message.media.url', 'url_malformed'],
      ['message.media.caption', 'field_wrong_type'],
    ])
  })
})

describe('messages for the caller', () => {
  it.each([
    ['+14155550100', '14155550100'],
    ['0014155550100', '14155550100'],
    [' 1 (415) 555-01.00 ', '14155550100'],
    ['+44 (0)20 7946 0018', '442079460018'],
    ['+49\u2013171\u00a05551234', '491715551234'],
  ])('about %j is the corrected form', (given, corrected) => {
    assert.match(messageOf({ ...text('a'), from: given }), new RegExp(`Write this number as ${corrected}:`))
  })

  it.each([
    ['\u202a14155550100\u202c', 'U+202A', '14155550100'],
    ['1415\u200b5550100', 'U+200B', '14155550100'],
    ['\ufeff14155550100', 'U+FEFF', '14155550100'],
    ['１４１５５５５０１００', 'U+FF11', '14155550100'],
    ['＋1 415 555 0100', 'U+FF0B', '14155550100'],
  ])('about %j names the character %s and the corrected form', (given, name, corrected) => {
    assert.equal(
      messageOf({ ...text('a'), to: given }),
      `This number holds the character ${name}. Write this number as ${corrected}: country code and digits only, without \`+\`, spaces or dashes.`,
    )
  })

  it.each(['a.png ', 'a.png\u00a0', 'a.png\ufeff'])('about the name %j is that it ends with a blank', (name) => {
    assert.equal(messageOf(media({ name })), 'The file name ends with a blank; take it out. Example: photo.jpg.')
  })

  it.each(['0171 5551234', 'abc', '+', '1'.repeat(16), '+'.repeat(50_000)])('about %.20j is only the rule', (given) => {
    assert.match(messageOf({ ...text('a'), from: given }), /7 to 15 digits, no leading zero/)
  })

  it.each([
    [{ ...text('a'), to: '123' }, '14155550100'],
    [media({ name: 'photo' }), 'photo.jpg'],
    [media({ url: 'files.example.com/a.jpg' }), 'https://files.example.com/photo.jpg'],
  ])('about a wrong format show an example: %j', (body, example) => {
    assert.ok(messageOf(body).endsWith(` Example: ${example}.`))
  })

  it('about a number without quotes is to put it in quotes', () => {
    assert.match(messageOf({ ...text('a'), from: 14155550100 }), /in quotes/)
  })

  it('about an unknown type are the known ones', () => {
    assert.match(messageOf({ from: FROM, to: TO, message: { type: 'x' } }), /message, image, document, video, audio/)
  })
})

describe('the reader of requests', () => {
  it('never throws, and gives the fields back as they came', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (from, to, message) => {
        const body = { from, to, message }

        const parsed = parseSendMessage(body)

        if (parsed.ok) assert.deepEqual([parsed.request.from, parsed.request.to], [from, to])
        else assert.ok(parsed.errors.length > 0)
      }),
    )
  })

  it('accepts exactly the numbers of E.164', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789+ '), maxLength: 18 }), (number) => {
        assert.equal(errorsOf({ ...text('a'), to: number }).length === 0, /^[1-9][0-9]{6,14}$/.test(number))
      }),
    )
  })
})
