import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { codesOf, envelopeOf } from './raw-connection.ts'
import { GOOD_BODY, type HeaderLines, withServer } from './server-under-test.ts'
import { FROM } from './stub-intake.ts'

const TO = '14155550123'

/** A valid body with the given fields changed. */
function bodyWith(fields: object): string {
  return JSON.stringify({ from: FROM, to: TO, message: { type: 'message', message: 'Hello' }, ...fields })
}

function text(message: unknown): string {
  return bodyWith({ message: { type: 'message', message } })
}

function media(fields: object, type = 'image'): string {
  return bodyWith({ message: { type, media: { name: 'a.jpg', url: 'https://files.example.com/a.jpg', ...fields } } })
}

describe('a body that cannot be read', () => {
  it.each<[string, string | Buffer, string]>([
    ['nothing', '', 'body_missing'],
    ['duplicate keys', `{"to":"1","to":"2"}`, 'key_repeated'],
    ['duplicate keys, one escaped', GOOD_BODY.replace('{', '{"\\u0074o":"1",'), 'key_escaped'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'body_not_utf8'],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'body_not_utf8'],
    ['U+0000', text('a\u0000b'), 'text_has_nul'],
    ['U+0000 in an unknown field', bodyWith({ other: '\u0000' }), 'text_has_nul'],
    ['half a character', `{"a":"\\ud83d"}`, 'text_not_unicode'],
    ['30,000 nested arrays', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'body_too_deep'],
    ['nine levels', `${'{"a":'.repeat(9)}1${'}'.repeat(9)}`, 'body_too_deep'],
    ['half of it', GOOD_BODY.slice(0, -1), 'body_not_json'],
    ['two values', `${GOOD_BODY}${GOOD_BODY}`, 'body_not_json'],
    ['a byte order mark', `\ufeff${GOOD_BODY}`, 'body_not_json'],
    ['a form', 'from=1&to=2', 'body_not_json'],
    ['an array', `[${GOOD_BODY}]`, 'body_not_object'],
    ['null', 'null', 'body_not_object'],
    ['a text', '"hello"', 'body_not_object'],
  ])('is refused: %s', async (_, body, code) => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ body })

      assert.equal(reply?.status, 400)
      assert.equal(envelopeOf(reply).code, 'HC-2')
      assert.deepEqual(codesOf(reply), [code])
    })
  })

  it.each<[string, HeaderLines, string]>([
    ['text/plain', { 'Content-Type': 'text/plain' }, 'content_type_unsupported'],
    ['none', { 'Content-Type': null }, 'content_type_unsupported'],
    ['another charset', { 'Content-Type': 'application/json; charset=utf-16' }, 'content_type_unsupported'],
    ['something after a tab', { 'Content-Type': 'application/json\ta' }, 'content_type_unsupported'],
    [
      'a tab before the charset that is none',
      { 'Content-Type': 'application/json;\tboundary=x' },
      'content_type_unsupported',
    ],
    ['two charsets', { 'Content-Type': 'application/json; charset=utf-8; charset=utf-16' }, 'content_type_unsupported'],
    ['a quote that is not closed', { 'Content-Type': 'application/json; charset="utf-8' }, 'content_type_unsupported'],
    ['a blank in a parameter', { 'Content-Type': 'application/json; charset = utf-8' }, 'content_type_unsupported'],
    ['a list', { 'Content-Type': 'application/json, text/plain' }, 'content_type_unsupported'],
    ['a kind of JSON', { 'Content-Type': 'application/vnd.api+json' }, 'content_type_unsupported'],
    ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'content_type_unsupported'],
    ['compressed', { 'Content-Encoding': 'gzip' }, 'content_encoding_unsupported'],
    ['compressed twice', { 'Content-Encoding': 'gzip, gzip' }, 'content_encoding_unsupported'],
    ['the type twice', { 'Content-Type': ['application/json', 'application/json'] }, 'header_repeated'],
    ['the key twice', { 'Idempotency-Key': ['a', 'a'] }, 'header_repeated'],
    ['an authorization twice', { Authorization: ['a', 'b'] }, 'header_repeated'],
    ['an empty key', { 'Idempotency-Key': '' }, 'idempotency_key_malformed'],
    ['a key of 256 characters', { 'Idempotency-Key': 'a'.repeat(256) }, 'idempotency_key_malformed'],
    ['a key with a letter beyond ASCII', { 'Idempotency-Key': 'schl\u00fcssel' }, 'idempotency_key_malformed'],
    ['a key with a tab', { 'Idempotency-Key': 'a\tb' }, 'idempotency_key_malformed'],
  ])('is refused for its headers: %s', async (_, headers, code) => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ headers })

      assert.equal(reply?.status, 400)
      assert.deepEqual(codesOf(reply), [code])
    })
  })

  it('is refused if it is larger than 64 KiB, and the caller can read that while it still writes', async () => {
    await withServer({}, async (server) => {
      const body = text('a'.repeat(1_000_000))
      const announced = await server.ask({ body })
      const connection = await server.connect()
      connection.send(server.write({ headers: { 'Content-Length': null, 'Transfer-Encoding': 'chunked' }, body: '' }))
      connection.send(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      const chunked = await connection.nextReply()

      for (const reply of [announced, chunked]) {
        assert.equal(reply?.status, 400)
        assert.deepEqual(codesOf(reply), ['body_too_large'])
        assert.equal(reply?.headers['connection'], 'close')
      }
      assert.deepEqual(
        server.intake.refused.map(({ body: kept }) => kept),
        [null, null],
      )
    })
  })
})

describe('a body that can be read', () => {
  it.each<[string, HeaderLines]>([
    ['application/json', {}],
    ['with the charset', { 'Content-Type': 'application/json; charset=utf-8' }],
    ['with the charset in other letters', { 'Content-Type': 'Application/JSON;charset="UTF-8"' }],
    ['with the charset as many write it', { 'Content-Type': 'application/json; charset=utf8' }],
    ['with an empty parameter', { 'Content-Type': 'application/json;' }],
    ['with empty parameters around the charset', { 'Content-Type': 'application/json ; ;\tCharset="utf8" ;; ' }],
    ['plain, and saying so', { 'Content-Encoding': 'identity' }],
    ['plain, and saying so in other letters', { 'Content-Encoding': 'Identity, ' }],
    ['with an empty encoding', { 'Content-Encoding': '' }],
    ['under a key of 255 characters', { 'Idempotency-Key': '~'.repeat(255) }],
    ['under a key with blanks', { 'Idempotency-Key': 'order 4711' }],
  ])('is accepted: %s', async (_, headers) => {
    await withServer({}, async (server) => {
      assert.equal((await server.ask({ headers }))?.status, 200)
    })
  })

  it('is accepted up to 64 KiB, and reaches storage byte for byte', async () => {
    await withServer({}, async (server) => {
      const padding = 65_536 - Buffer.byteLength(bodyWith({ padding: '' }))
      const body = bodyWith({ padding: 'ä'.repeat(Math.floor(padding / 2)) }) + ' '.repeat(padding % 2)
      assert.equal(Buffer.byteLength(body), 65_536)

      assert.equal((await server.ask({ body }))?.status, 200)
      assert.equal(server.intake.accepted[0]?.body, body)
    })
  })

  it('may contain keys with a meaning in JavaScript', async () => {
    await withServer({}, async (server) => {
      const body = GOOD_BODY.replace('{', '{"__proto__":{"from":"1","message":null},"constructor":1,"toString":{},')

      assert.equal((await server.ask({ body }))?.status, 200)
      assert.equal(server.intake.accepted[0]?.from, FROM)
    })
  })

  it('may come in chunks of any size, cut in the middle of characters', async () => {
    await withServer({}, async (server) => {
      const body = Buffer.from(text('Grüße 📦'))
      const connection = await server.connect()
      connection.send(server.write({ headers: { 'Content-Length': null, 'Transfer-Encoding': 'CHUNKED' }, body: '' }))
      for (const byte of body)
        connection.send(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
      connection.send('0\r\n\r\n')

      assert.equal((await connection.nextReply())?.status, 200)
      assert.equal(server.intake.accepted[0]?.body, body.toString())
    })
  })

  it.each([
    ['markup', '<script>alert(1)</script>'],
    ['a template', '{{7*7}}'],
    ['a formula', '=cmd()'],
    ['a format', '%n%s'],
    ['SQL', "' OR 1=1 --"],
    ['right to left', '\u202eabc'],
    ['emoji', '👩‍👩‍👧‍👦'],
    ['line breaks and tabs', 'a\r\n\tb\u2028c'],
  ])('is kept as it is: %s', async (_, message) => {
    await withServer({}, async (server) => {
      assert.equal((await server.ask({ body: text(message) }))?.status, 200)
      assert.deepEqual(server.intake.accepted[0]?.content, { type: 'message', text: message })
    })
  })
})

describe('fields', () => {
  it.each([
    ['a plus sign', '+14155550123'],
    ['blanks', '1 415 555 0123'],
    ['letters', '1415555O123'],
    ['Arabic digits', '١٤١٥٥٥٥٠١٢٣'],
    ['16 digits', '1'.repeat(16)],
    ['6 digits', '1'.repeat(6)],
    ['a zero before', '014155550123'],
    ['nothing', ''],
    ['a line break after', '14155550123\n'],
    ['40 KB', '1'.repeat(40_000)],
  ])('`to` with %s is refused', async (_, to) => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ body: bodyWith({ to }) })

      assert.equal(reply?.status, 400)
      assert.deepEqual(
        envelopeOf(reply).data.errors?.map(({ field, code }) => [field, code]),
        [['to', 'number_malformed']],
      )
    })
  })

  it.each([
    ['a path', '../../etc/passwd'],
    ['a NUL, which no string may hold', 'a\u0001.jpg'],
    ['an override of the writing direction', 'gpj.\u202eexe.jpg'],
    ['5,000 characters', `${'a'.repeat(5000)}.jpg`],
    ['a backslash', 'a\\b.jpg'],
    ['no extension', 'photo'],
  ])('`media.name` with %s is refused', async (_, name) => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ body: media({ name }) })

      assert.deepEqual(codesOf(reply), ['name_malformed'])
    })
  })

  it.each([
    ['an address of ours', 'http://127.0.0.1/a.png', 'url_not_public'],
    ['an address in another spelling', 'http://2130706433/', 'url_not_public'],
    ['an address of the cloud', 'http://169.254.169.254/latest', 'url_not_public'],
    ['IPv6', 'http://[::ffff:127.0.0.1]/', 'url_not_public'],
    ['a local name', 'http://localhost/', 'url_not_public'],
    ['a port of something else', 'http://example.com:22/', 'url_port_refused'],
    ['a password', 'http://user:secret@example.com/', 'url_has_credentials'],
    ['a backslash', 'http://example.com\\@127.0.0.1/', 'url_malformed'],
    ['no scheme', '//127.0.0.1/', 'url_malformed'],
    ['another scheme', 'file:///etc/passwd', 'url_malformed'],
    ['2,049 characters', `https://example.com/${'a'.repeat(2029)}`, 'url_malformed'],
  ])('`media.url` with %s is refused', async (_, url, code) => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ body: media({ url }) })

      assert.deepEqual(
        envelopeOf(reply).data.errors?.map(({ field, code: found }) => [field, found]),
        [['message.media.url', code]],
      )
    })
  })

  it('are all validated, and their errors reported together, with those of the headers and the address', async () => {
    await withServer({}, async (server) => {
      const reply = await server.ask({
        headers: { 'Idempotency-Key': '' },
        body: bodyWith({
          from: '+1 415 555-0100',
          to: 5,
          message: {
            type: 'image',
            message: 'lost',
            media: { name: 'photo', url: 'http://10.0.0.1/', caption: '\u0007' },
          },
        }),
      })

      assert.deepEqual(
        envelopeOf(reply).data.errors?.map(({ field, code }) => [field, code]),
        [
          ['idempotency-key', 'idempotency_key_malformed'],
          ['from', 'number_malformed'],
          ['to', 'field_wrong_type'],
          ['message.message', 'field_unused'],
          ['message.media.name', 'name_malformed'],
          ['message.media.caption', 'text_has_control'],
          ['message.media.url', 'url_not_public'],
        ],
      )
      assert.match(envelopeOf(reply).data.errors?.[1]?.message ?? '', /14155550100/)
    })
  })

  it('reach storage in one form, whichever of them were empty', async () => {
    await withServer({}, async (server) => {
      const bodies = [
        media({ caption: '' }),
        media({ caption: null }),
        media({}),
        media({ caption: 'Hello' }),
        media({ caption: 'ignored', name: 'a.mp3' }, 'audio'),
        bodyWith({ message: { type: 'message', message: 'Hello', media: null } }),
      ]
      for (const body of bodies) assert.equal((await server.ask({ body }))?.status, 200)

      const url = 'https://files.example.com/a.jpg'
      assert.deepEqual(
        server.intake.accepted.map(({ content }) => content),
        [
          { type: 'image', name: 'a.jpg', url, caption: null },
          { type: 'image', name: 'a.jpg', url, caption: null },
          { type: 'image', name: 'a.jpg', url, caption: null },
          { type: 'image', name: 'a.jpg', url, caption: 'Hello' },
          { type: 'audio', name: 'a.mp3', url, caption: null },
          { type: 'message', text: 'Hello' },
        ],
      )
    })
  })
})
