import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { MAX_JSON_DEPTH, parseStrictJson } from './strict-json.ts'

describe('the strict JSON reader', () => {
  it('reads any JSON without repeated keys as JSON.parse does', () => {
    fc.assert(
      fc.property(jsonValue(), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, null, indent)

        const read = parseStrictJson(Buffer.from(text))

        assert.ok(read.ok)
        assert.deepEqual(read.value, value)
        assert.equal(read.text, text)
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses any JSON with one key repeated, however it is written, and says where', () => {
    fc.assert(
      fc.property(objectWithPath(), fc.boolean(), ({ value, path }, escaped) => {
        const text = JSON.stringify(value)
        const key = path.at(-1)!
        const twin = escaped ? escapeAll(key) : JSON.stringify(key)
        const marked = JSON.stringify(value, (_key, item: unknown) =>
          isHolderOf(item, path, value) ? { ...item, [MARK]: 0 } : item,
        )
        fc.pre(marked !== text)

        const read = parseStrictJson(Buffer.from(marked.replace(`"${MARK}"`, () => twin)))

        assert.ok(!read.ok)
        assert.equal(read.code, 'key_repeated')
        assert.equal(read.field, path.join('.'))
      }),
    )
  })

  it('says where a text stops being JSON, without quoting it', () => {
    fc.assert(
      fc.property(
        jsonValue(),
        fc.nat(),
        fc.constantFrom('', 'Anna', '"Anna', ',', ':', '}', ']', '{', '01', '\n', '\\'),
        (value, where, piece) => {
          const whole = JSON.stringify(value, null, 1)
          const at = where % (whole.length + 1)
          const text = whole.slice(0, at) + piece + whole.slice(piece === '' ? whole.length : at)
          fc.pre(text !== '' && !canParse(text))

          const read = parseStrictJson(Buffer.from(text))
          // One more quote turns text in strings into brackets, and depth is checked first.
          fc.pre(read.ok || read.code !== 'body_too_deep')

          assert.ok(!read.ok && read.code === 'body_not_json')
          const [, line, character] = PLACE.exec(read.detail ?? '') ?? []
          assert.ok(Number(line) <= text.split('\n').length && Number(character) > 0, read.detail ?? '')
          const lines = text.split('\n').slice(0, Number(line))
          const before = [
            ...lines.slice(0, -1),
            [...(lines.at(-1) ?? '')].slice(0, Number(character) - 1).join(''),
          ].join('\n')
          assert.ok(isBeginning(before), `${JSON.stringify(text)}: ${read.detail}`)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['{"message":Dear Anna', 'what stands at line 1, character 12 cannot stand there'],
    ['{"to":"1",\n "from":"2",}', 'what stands at line 2, character 13 cannot stand there'],
    ['{"to":"1"', 'it ends too early, at line 1, character 10'],
    ["{'to':'1'}", 'what stands at line 1, character 2 cannot stand there'],
    ['{"to":"1"} Anna', 'what stands at line 1, character 12 cannot stand there'],
    ['{"to":"\u{1f600}" 1}', 'what stands at line 1, character 11 cannot stand there'],
  ])('reports for %j: %s', (text, why) => {
    const read = parseStrictJson(Buffer.from(text))

    assert.equal(!read.ok && read.detail, `The body is not valid JSON: ${why}.`)
  })

  it('is not misled by the body of another caller', () => {
    // JSON.parse is misled: nodejs/node issue 63785. This body causes it.
    const poison = ['{"to":1,"\\\\":2}', '{"to":1,"\\\\u":2}', '{"to":1,"\\\\u00":2}']
    for (const text of [...poison, ...poison]) assert.ok(parseStrictJson(Buffer.from(text)).ok)

    const quote = parseStrictJson(Buffer.from('{"to":1,"\\"":2}'))
    const twin = parseStrictJson(Buffer.from('{"to":1,"\\u0074o":2}'))

    assert.deepEqual(quote.ok && quote.value, { to: 1, '"': 2 })
    assert.equal(!twin.ok && twin.code, 'key_repeated')
  })

  it('never throws, whatever bytes come', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.string({ unit: fc.constantFrom(...'{}[]:,"\\u0a \n') }),
        (a, b) => {
          parseStrictJson(Buffer.from(a))
          parseStrictJson(Buffer.from(b))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['{"to":"1","to":"2"}', 'key_repeated', 'to'],
    ['{"to":"1","\\u0074o":"2"}', 'key_repeated', 'to'],
    ['{"\\u0074o":"1"}', 'key_escaped', 'to'],
    ['{"a":{"n\\u0061me":"1"}}', 'key_escaped', 'a.name'],
    ['{"\\\\\\u003c\\u0041":"1"}', 'key_escaped', '\\<A'],
    ['{"\\n":1,"\\u000a":2}', 'key_repeated', '\n'],
    ['{"a\\\\" :1,"a\\\\"\t\r\n:2}', 'key_repeated', 'a\\'],
    ['{"\\"":1,"\\u0022":2}', 'key_repeated', '"'],
    ['{"x":"\\\\","a:b":1,"a:b":2}', 'key_repeated', 'a:b'],
    ['[{"a\\\\\\":":1},{"a\\\\\\":":1,"a\\\\\\":":2}]', 'key_repeated', '1.a\\":'],
    ['{"a":[[[[[[{"\\u0062":1}]]]]]]}', 'key_escaped', 'a.0.0.0.0.0.0.b'],
    ['{"a" \n:1,"\\u0061" \n:2}', 'key_repeated', 'a'],
    ['{"__proto__":1,"__proto__":2}', 'key_repeated', '__proto__'],
    ['{"a":[{"b":{}},{"b":1,"c":"\\"","b":2}]}', 'key_repeated', 'a.1.b'],
    ['{"message":{"media":{"url":"x","url":"x"}}}', 'key_repeated', 'message.media.url'],
    ['{"a":"\\u0000"}', 'text_has_nul', 'a'],
    ['{"a":{"b\\u0000":1}}', 'text_has_nul', 'a'],
    ['{"a":{"b":"\\ud83d"}}', 'text_not_unicode', 'a.b'],
    ['{"a":"\\ude00\\ud83d"}', 'text_not_unicode', 'a'],
    ['["\\uD83D"]', 'text_not_unicode', '0'],
    ['{"\\ud83d":1}', 'text_not_unicode', null],
    [`${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'body_too_deep', null],
    [`${'{"a":'.repeat(9)}1${'}'.repeat(9)}`, 'body_too_deep', null],
    ['', 'body_not_json', null],
    ['{', 'body_not_json', null],
    ['{"a":1,}', 'body_not_json', null],
    ["{'a':1}", 'body_not_json', null],
    ['{"a":01}', 'body_not_json', null],
    ['{"a":NaN}', 'body_not_json', null],
    ['{"a":1}{"b":2}', 'body_not_json', null],
    ['{"a":"\n"}', 'body_not_json', null],
    ['{"a":1}//', 'body_not_json', null],
    ['\ufeff{"a":1}', 'body_not_json', null],
    ['{"a', 'body_not_json', null],
    ['{"a\\', 'body_not_json', null],
    ['{"a\\":1}', 'body_not_json', null],
    ['["\\\\","a"::::]', 'body_not_json', null],
    ['{"a"\u00a0:1}', 'body_not_json', null],
    ['{"a"\u0001:1}', 'body_not_json', null],
    ['{"a":"b":"c"}', 'body_not_json', null],
  ])('refuses %.60j', (text, code, field) => {
    const read = parseStrictJson(Buffer.from(text))

    assert.ok(!read.ok)
    assert.deepEqual({ code: read.code, field: read.field, text: read.text }, { code, field, text })
  })

  it.each([
    ['two bytes that begin nothing', [0x22, 0xff, 0xfe, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate half as bytes', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['beyond U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    ['a character cut short', [0x22, 0xf0, 0x9f, 0x98]],
  ])('refuses bytes that are no UTF-8: %s', (_, bytes) => {
    const read = parseStrictJson(Buffer.from(bytes))

    assert.ok(!read.ok)
    assert.deepEqual({ code: read.code, text: read.text }, { code: 'body_not_utf8', text: null })
  })

  it.each([
    '{"a":{"a":1},"b":{"a":1}}',
    '{"a":":","b":"\\":\\"","c":"\\\\"}',
    '{"a":"\\ud83d\\ude00"}',
    '{"\\\\":":","\\\\\\"":"\\\\","\\":\\"":{"\\\\":1},":":[":","\\":"]}',
    '{"\\\\\\\\" : "\\\\\\\\" , "a:\\"b\\":" :\t{ } }',
    '{"\\u0022":1,"\\u005c":2,"\\u003a":3}',
    '{"a":"\\\\u0000"}',
    '{"gr\\u00f6\\u00dfe":1,"a\\/b":2,"\\u003c":3,"\\"":4,"\\n":5,"\\\\u0041":6}',
    '{"":1,"constructor":2,"__proto__":{"x":1},"toString":3,"0":4}',
    `${'['.repeat(MAX_JSON_DEPTH)}${']'.repeat(MAX_JSON_DEPTH)}`,
    ' null ',
    '"text"',
  ])('accepts %j', (text) => {
    const read = parseStrictJson(Buffer.from(text))

    assert.ok(read.ok)
    assert.deepEqual(read.value, JSON.parse(text))
  })
})

const MARK = 'here-comes-the-twin'

/** JSON as people write it, and keys as no person writes them. */
function jsonValue() {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'a:b', '"', '\\', '{', '', '0'))
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }).filter(isPlain), fc.constantFrom('\\u', ':', '"}'))
  const leaf = fc.oneof(
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.boolean(),
    fc.constant(null),
  )
  return fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', maxDepth: 6 },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).value
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000')
}

/** An object in an object, and the path of one of its keys. */
function objectWithPath() {
  const key = fc.string({ unit: fc.constantFrom(...'abc:"\\{é'), minLength: 1, maxLength: 4 })
  const leaf = fc.oneof(fc.integer(), fc.string({ unit: fc.constantFrom(...'ab":\\{}[],') }))
  return fc
    .tuple(fc.array(key, { minLength: 1, maxLength: 4 }), leaf, fc.dictionary(key, leaf, { maxKeys: 3 }))
    .map(([path, last, beside]) => ({
      path,
      value: path.reduceRight<unknown>((inner, step, index) => ({ ...(index % 2 ? beside : {}), [step]: inner }), last),
    }))
}

function isHolderOf(item: unknown, path: readonly string[], root: unknown): item is object {
  let holder = root
  for (const step of path.slice(0, -1)) holder = (holder as Record<string, unknown>)[step]
  return typeof item === 'object' && item !== null && item === holder
}

function escapeAll(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
}

const PLACE = /^The body is not valid JSON: (?:it ends too early, at|what stands at) line (\d+), character (\d+)/

function canParse(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether the parser's only fault with a text is its end. */
function isBeginning(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const [, place] = /at position (\d+)/.exec(String(error)) ?? []
    return /end of JSON input/.test(String(error)) || Number(place) >= text.trimEnd().length
  }
}
