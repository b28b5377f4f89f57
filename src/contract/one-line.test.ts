import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { z } from 'zod'
import { findOneLineFault } from '../format/one-line.ts'
import { CONSOLE_ROUTES } from './console/routes.ts'
import { email } from './console/session.ts'

const RULE = { what: 'The name', most: 60 }
const HIDDEN = ['\u0007', '\u001b', '\u0085', '\u200b', '\u200e', '\u202e', '\u2028', '\u2060', '\u2066', 'a\ufeffb']
// Inputs that people do not read as a line: secrets, codes, ids, web addresses and answers of browsers.
const NO_LINES = new Set('password link code ticket url entry channel upTo prefix token key'.split(' '))

describe('a line that a person types', () => {
  it.each(['Büro 1', 'a'.repeat(60), '日本', '👍'])('may be %j', (text) => {
    assert.equal(findOneLineFault(text, RULE), null)
  })

  it.each(HIDDEN)('holds no %j', (hidden) => {
    assert.match(
      findOneLineFault(`a${hidden}b`, RULE) ?? '',
      /^The name holds the invisible character U\+[0-9A-F]{4}\. Take it out\.$/,
    )
  })

  it('is not empty, too long or half a character', () => {
    assert.equal(findOneLineFault('', RULE), 'The name must not be empty.')
    assert.equal(findOneLineFault('\u200b', RULE), 'The name must not be empty.')
    assert.equal(findOneLineFault('a'.repeat(61), RULE), 'The name has at most 60 characters.')
    assert.match(findOneLineFault('a\ud800', RULE) ?? '', /half of a character/)
    assert.equal(findOneLineFault('', { ...RULE, mayBeEmpty: true }), null)
  })

  it('is held to this rule in every route of the console', () => {
    const lax: string[] = []
    for (const [name, { body }] of Object.entries(CONSOLE_ROUTES)) {
      if (!(body instanceof z.ZodObject)) continue
      for (const [field, schema] of Object.entries<z.core.$ZodType>(body.shape)) {
        const isText = z.safeParse(schema, 'anna@example.org').success || z.safeParse(schema, '15550100000').success
        if (!isText || NO_LINES.has(field)) continue
        if (HIDDEN.some((hidden) => z.safeParse(schema, `anna${hidden}anna@example.org`).success))
          lax.push(`${name}.${field}`)
      }
    }

    // A number is held to digits together with the settings of its connection, and a name is compared with the stored one.
    const others = ['addConnection.number', 'deleteToken.name']
    // The service holds these to the rule together with the other fields of their forms, see the tests of its handlers.
    const byService = [
      ...['acceptInvitation.name', 'setUp.email', 'setUp.name'],
      ...['changeWebhook.description', 'createToken.name', 'createWebhook.description'],
    ]
    assert.deepEqual(lax.toSorted(), [...others, ...byService].toSorted())
  })
})

describe('an e-mail address', () => {
  it.each(['anna@example.org', 'anna.b+c@mail.example.org', 'root@localhost'])('may be %s', (text) => {
    assert.equal(email.parse(` ${text} `), text)
  })

  it.each([
    'anna',
    'anna@',
    '@example.org',
    'an\u200bna@example.org',
    'anna@exa\u202emple.org',
    'a\u001bnna@example.org',
    'anna@example..org',
    'anna@-example.org',
    '"a b"@example.org',
    'änna@example.org',
  ])('is not %j', (text) => {
    assert.ok(!email.safeParse(text).success)
  })
})
