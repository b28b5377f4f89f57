import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkBody } from './check-body.ts'

const RANGES = { allowed: [], refused: [] }
const FINE = { from: '15550001000', to: '15550100000', message: { type: 'message', message: 'Hello' } }
const IMAGE = { type: 'image', media: { name: 'a.png', url: 'https://files.example.com/a.png' } }

function problemsOf(body: string) {
  const checked = checkBody(Buffer.from(body), RANGES)
  return checked.ok ? [] : checked.problems
}

describe('problems reported for a body', () => {
  it.each([
    ['no JSON', '{"message":Dear Anna'],
    ['a string without its end', '{"message":"Dear Anna'],
    ['a key that stands twice', '{"Dear Anna":1,"Dear Anna":2}'],
    ['a key that stands twice within a field', '{"message":{"media":{"Anna":1,"Anna":2}}}'],
    ['a key with escapes', '{"\\u0041nna":1}'],
    ['a key with half a character', '{"Anna":{"\\ud800":1}}'],
    ['U+0000 in an unknown field', '{"Anna":"\\u0000"}'],
    ['numbers that are texts', JSON.stringify({ ...FINE, from: 'Anna', to: 'Anna' })],
    ['an unknown type', JSON.stringify({ ...FINE, message: { type: 'Anna', message: 'Anna' } })],
    ['a text where a message belongs', JSON.stringify({ ...FINE, message: 'Anna' })],
    [
      'a name that cannot be',
      JSON.stringify({ ...FINE, message: { ...IMAGE, media: { ...IMAGE.media, name: 'Anna/' } } }),
    ],
    [
      'a host that is local',
      JSON.stringify({ ...FINE, message: { ...IMAGE, media: { ...IMAGE.media, url: 'http://anna.local/' } } }),
    ],
    [
      'a URL that cannot be',
      JSON.stringify({ ...FINE, message: { ...IMAGE, media: { ...IMAGE.media, url: 'Anna' } } }),
    ],
    [
      'user and password',
      JSON.stringify({
        ...FINE,
        message: { ...IMAGE, media: { ...IMAGE.media, url: 'http://anna:anna@a.example.com/' } },
      }),
    ],
  ])('do not quote the body: %s', (_, body) => {
    const problems = problemsOf(body)

    assert.ok(problems.length > 0)
    assert.doesNotMatch(JSON.stringify(problems), /anna/i)
  })

  it('name the known field around an unknown key, and the position of the key', () => {
    assert.deepEqual(problemsOf('{"message":{"media":{"Anna":1,"Anna":2}}}'), [
      {
        field: 'message.media',
        code: 'key_repeated',
        message:
          'A key stands twice in the same JSON object, so it is not clear which value is meant. It stands at line 1, character 31.',
      },
    ])
    assert.equal(problemsOf('{"to":"1","to":"2"}')[0]?.field, 'to')
  })
})
