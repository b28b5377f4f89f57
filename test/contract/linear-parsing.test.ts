import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseBody } from '../../src/channels/receipts/parse-body.ts'
import { readCallback } from '../../src/channels/whatsapp-cloud/callbacks/read-callback.ts'
import { routeParts } from '../../src/channels/whatsapp-cloud/callbacks/route-parts.ts'
import { isSignedByAny, readSignature } from '../../src/channels/whatsapp-cloud/callbacks/verify-origin.ts'
import { readAnswer } from '../../src/channels/whatsapp-cloud/outcome.ts'
import { readTemplateView } from '../../src/channels/whatsapp-cloud/template-views.ts'
import { collect, parseEmail, parseEvents, parseName, parseNumber, parseSources } from '../../src/cli/parse/argument.ts'
import { splitSettings } from '../../src/cli/parse/connection-settings.ts'
import { parseExpiry } from '../../src/cli/parse/expiry.ts'
import { parseNumberFile } from '../../src/cli/parse/number-file.ts'
import { databaseUrl } from '../../src/config/database-url.ts'
import { readSettings } from '../../src/config/read-settings.ts'
import { baseUrl, cidrList, dnsServerList, headerPairs, host, roleList } from '../../src/config/setting-kinds.ts'
import { isTimeZone } from '../../src/contract/console/form-rules.ts'
import { logFilter } from '../../src/contract/console/log.ts'
import { email } from '../../src/contract/console/session.ts'
import { newTokenForm, tokenName } from '../../src/contract/console/tokens.ts'
import { checkName, checkText } from '../../src/contract/field-rules.ts'
import { parseSendMessage } from '../../src/contract/send-message.ts'
import { checkMediaUrl, parseWebUrl } from '../../src/core/media-address/check-url.ts'
import { parseAddressRange, parseIpAddress } from '../../src/core/media-address/ip-address.ts'
import { isWellFormedToken } from '../../src/core/token/token-format.ts'
import { parseDurationMs } from '../../src/format/durations.ts'
import { parseIdempotencyKey } from '../../src/http/api/check-headers.ts'
import { isOnThisMachine } from '../../src/http/console-api/csrf.ts'
import { maskBody, maskText } from '../../src/http/console-api/mask.ts'
import { recoveryCodeHash } from '../../src/http/console-api/people/recovery-codes.ts'
import { attachmentName } from '../../src/http/console-api/sandbox/attachment-name.ts'
import { readRange } from '../../src/http/console-api/sandbox/send-copy.ts'
import { chooseEncoding } from '../../src/http/docs/choose-encoding.ts'
import { hasEntityTag } from '../../src/http/docs/docs-pages.ts'
import { findRepeatedHeaders } from '../../src/http/server/repeated-headers.ts'
import { networkOf } from '../../src/http/server/source-address.ts'
import { parseStrictJson } from '../../src/http/server/strict-json.ts'
import { checkHeaders } from '../../src/media/check-headers.ts'
import { readTracks } from '../../src/media/iso-tracks.ts'
import { parseRetryAfter } from '../../src/media/media-status.ts'
import { sniffType } from '../../src/media/sniff-type.ts'
import { growthOfWork, MOST_GROWTH, type ParserUnderLoad } from '../support/growth-of-work.ts'
import { type Shape, WORST_JSON } from '../support/worst-json.ts'

const KIB = 1024
// The largest input is eight times this: the largest body, or twice the largest headers.
const BODY = 8 * KIB
const HEADER = 2 * KIB

/** Makes entries of the tables below: a parser with each input that might make it read the same byte many times. */
function withSize(size: number) {
  return (name: string, read: (text: string) => unknown, shapes: readonly Shape[]) =>
    shapes.map(([what, piece, before = '', behind = '']): ParserUnderLoad => {
      const prepare = (bytes: number) => {
        // Decoded from bytes, as real input is. A concatenated string would be flattened by its first reader, at extra cost.
        const text = Buffer.from(before + piece.repeat(Math.ceil(bytes / piece.length)) + behind).toString()
        return () => orRefuse(() => read(text))
      }
      return { name: `${name}: ${what}`, size, prepare }
    })
}

const body = withSize(BODY)
const header = withSize(HEADER)

/** Some parsers refuse by throwing, which counts as a result. */
function orRefuse(read: () => unknown): unknown {
  try {
    return read()
  } catch (refusal) {
    return refusal
  }
}

const BLANKS: Shape = ['blanks in the middle', ' ', 'a', 'a']
const COMMAS: Shape = ['commas', ',']
const DOTS: Shape = ['dots', '.', 'a', 'a!']
const COLONS: Shape = ['colons', ':']
const SLASHES: Shape = ['slashes', '/', 'http://a', 'a']
const WORDS: Shape = ['words', 'a, ']
const DIGITS: Shape = ['digits', '1']
const WIDE: Shape = ['wide letters', '名']
const COMMON = [BLANKS, COMMAS, DOTS, COLONS, SLASHES, WORDS, DIGITS, WIDE]

/** Keys of an object that are all different. */
const DIFFERENT_KEYS: ParserUnderLoad = {
  name: 'JSON: keys made of digits, one of them escaped',
  size: BODY,
  prepare: (size) => {
    const keys = Array.from({ length: size / 16 }, (_, i) => `"${i * 4_096}":1`)
    const object = Buffer.from(`{"\\n":1,${keys.join()}}`)
    return () => parseStrictJson(object)
  },
}

const BODIES = [
  ...body('JSON', (text) => parseStrictJson(Buffer.from(text)), WORST_JSON),
  DIFFERENT_KEYS,
  ...body('a text to be sent', checkText, [...COMMON, ['white space', ' \n'], ['emoji', '😀']]),
  ...body('a name to be sent', checkName, COMMON),
  ...withSize(31)('a name as long as it may be', checkName, [['letters', 'a']]),
  ...body('a message', (text) => parseSendMessage({ from: text, to: text, message: { type: text } }), COMMON),
  ...body('the name of a token', (text) => tokenName.safeParse(text), COMMON),
  ...body('an e-mail', (text) => email.safeParse(text), [...COMMON, ['signs', '@'], ['an address', 'a', 'a@']]),
  ...body('a time zone', isTimeZone, COMMON),
  ...body('a recovery code', recoveryCodeHash, COMMON),
  ...body('a form with a list', (text) => newTokenForm.safeParse({ events: text.split(',') }), [WORDS]),
  ...body('words to search for', (text) => logFilter.safeParse({ text, to: text, status: text }), COMMON),
  ...body('words that viewers see', maskText, [...COMMON, ['blanks between digits', '1  '], ['plus signs', '+']]),
  ...body('a body that viewers see', maskBody, [['numbers', '"1555010000",', '[', '1]']]),
]

const HEADERS = [
  ...header('a list of encodings', chooseEncoding, [...COMMON, ['qualities', ';q=0.0']]),
  ...header('a list of tags', (text) => hasEntityTag(text, 'W/"a"'), COMMON),
  ...header('a range', (text) => readRange(text, 1000), [...COMMON, ['digits', '1', 'bytes=']]),
  ...header('a host', (host) => isOnThisMachine({ host }), COMMON),
  ...header('an address', networkOf, [...COMMON, ['a doubled colon', '1:', '::']]),
  ...header('an IP address', parseIpAddress, [...COMMON, ['dots and colons', '1.', ':']]),
  ...header('an idempotency key', parseIdempotencyKey, COMMON),
  ...header('a token', isWellFormedToken, [...COMMON, ['letters', 'a', 'nco_']]),
  ...header('names of headers', (text) => findRepeatedHeaders(text.split(',')), [['hosts', 'host,x,']]),
  ...header('a signature', (text) => readSignature(text), [...COMMON, ['digits', '1', 'sha256=']]),
  ...header('a query', (text) => [...new URLSearchParams(text)], [['pairs', 'a=%20&'], ...COMMON]),
]

const URLS = [
  ...header('the URL of a file', (text) => checkMediaUrl(`https://${text}`), [...COMMON, ['signs', 'a@']]),
  ...header('the path of a file', (text) => checkMediaUrl(`https://a.b/${text}`), [['steps back', '../'], WIDE]),
  ...header('a redirect', redirectedTo, [
    ['steps back', '../'],
    ['slashes', '/'],
    ['signs', 'a@', '//'],
  ]),
  // The largest of them is as long as a URL may be.
  longName('the host of a file', (name) => checkMediaUrl(`https://${name}/`)),
  longName('the host behind a user', (name) => checkMediaUrl(`https://a@${name}:80?`)),
  longName('the host of a redirect', (name) => redirectedTo(`//${name}/a`)),
  longName('the host of a redirect without slashes', (name) => redirectedTo(`http:${name}`)),
  longName('the host of a redirect behind many slashes', (name) => redirectedTo(`WSS:////${name}`)),
  longName('the host of a connection', (name) => isOnThisMachine({ host: encodeURIComponent(name) })),
]

function redirectedTo(text: string): unknown {
  return parseWebUrl(text, 'https://a.b/c')
}

/** A host of many different letters. Converting it to ASCII is quadratic in its length. */
function longName(name: string, read: (host: string) => unknown): ParserUnderLoad {
  const prepare = (size: number) => {
    const host = Array.from({ length: size }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 37) % 20_000)),
    ).join('')
    return () => read(host)
  }
  return { name, size: 240, prepare }
}

const MEDIA = [
  ...body('a file', (text) => sniffType(Buffer.from(text, 'latin1')), [
    ['entries of an archive that claim long names', `PK\x03\x04${'~'.repeat(28)}`],
    ['blanks before a page', ' ', '', '<'],
    ['brackets', '<', '', ''],
    ['brands', 'abcd', '\x7f\x7f\x7f\x7fftyp'],
    ['letters', 'a'],
  ]),
  ...body('a list of tracks', (text) => tracksOf(text), [
    ['handlers', 'hdlr', '0000moov'],
    ['boxes', '\0\0\0\x08free'],
  ]),
  ...header('what a host announces', (text) => checkHeaders({ header: () => text }, ANY_FILE), COMMON),
  ...header('when a host may be asked again', (text) => parseRetryAfter(text, text), [...COMMON, ['G', 'G', 'Mon, ']]),
  ...header('the name of a copy', attachmentName, [...COMMON, ['accents', 'é']]),
]

const ANY_FILE = { type: 'document', capBytes: KIB } as const

function tracksOf(text: string): unknown {
  const file = Buffer.from(text, 'latin1')
  if (text.startsWith('0000moov')) file.writeUInt32BE(file.length)
  return readTracks(async (position, length) => file.subarray(position, position + length), file.length)
}

const CALLBACK: Shape['2'] = '{"object":"whatsapp_business_account","entry":[{"id":"1","changes":['
const MESSAGES = '{"field":"messages","value":{"metadata":{"phone_number_id":"1"},"statuses":['

const NETWORK = [
  ...body('a callback', (text) => readBody(text), [
    ['statuses', '{"id":"wamid.A","status":"sent"},', CALLBACK + MESSAGES, '1]}}]}]}'],
    ['changes', `${MESSAGES}{"id":"a","status":"read"}]}},`, CALLBACK, '1]}]}'],
    [
      'words of a failure',
      '😀',
      `${CALLBACK}${MESSAGES}{"id":"a","status":"failed","errors":[{"title":"`,
      '"}]}]}}]}]}',
    ],
    ['news of a number', '{"field":"account_update","value":{"event":"X"}},', CALLBACK, '1]}]}'],
    ['backslashes', '\\\\', '"', '"'],
    ['brackets', '['],
  ]),
  ...body('the signature of a callback', (text) => isSignedByAny(Buffer.from(text), Buffer.alloc(32), ['a']), [DIGITS]),
  ...body('an answer of the network', answerOf, [...COMMON, ['tokens', 'EAAaaaaaaaaa '], ['no token', 'EAA']]),
  ...body('a template', templateOf, [...COMMON, ['brackets', '{{'], ['blanks', ' ', '{{'], ['words', 'a', '{{']]),
]

function readBody(text: string): unknown {
  const parsed = parseBody(Buffer.from(text))
  return parsed && routeParts(readCallback(parsed.value).parts, [])
}

function answerOf(message: string): unknown {
  return readAnswer({ kind: 'answered', status: 400, body: { error: { code: 1, message } } }, () => ['secret'])
}

function templateOf(text: string): unknown {
  const components = [{ type: 'BODY', text }]
  return readTemplateView({ name: 'a', language: 'de', status: 'APPROVED', category: 'UTILITY', components })
}

const COMMAND_LINE = [
  ...withSize(KIB)('an option given many times', collected, [['values', 'a,']]),
  ...body('a file of numbers', (text) => parseNumberFile(text, 'a'), [
    ...COMMON,
    ['lines', '15550100000\n'],
    ['quotes', '""', '"'],
    ['blanks before a quote', ' ', '', '"'],
  ]),
  ...header('settings of a connection', (text) => splitSettings(text.split(',')), [...COMMON, ['a name', 'a']]),
  ...header('addresses of callers', (text) => parseSources(text.split(',')), COMMON),
  ...header('events', (text) => parseEvents(text.split(',')), [WORDS]),
  ...header('a name', (text) => parseName(text, 'a'), COMMON),
  ...header('a number', parseNumber, COMMON),
  ...header('a duration', parseDurationMs, COMMON),
  ...header('an expiration', (text) => parseExpiry(text, 0), COMMON),
  ...header('the e-mail of a person', parseEmail, COMMON),
  ...header('ranges of addresses', cidrList.parse, [...COMMON, ['ranges', '10.0.0.0/8, ']]),
  ...header('one range', parseAddressRange, COMMON),
  ...header('DNS servers', dnsServerList.parse, [...COMMON, ['brackets', '[']]),
  ...header('pairs of headers', headerPairs.parse, [...COMMON, ['a value with blanks', 'a  ', 'a=', 'é']]),
  ...header('roles', roleList.parse, COMMON),
  ...header('a host to listen on', host.parse, COMMON),
  ...header('the address of the service', baseUrl.parse, [SLASHES, ['steps back', '../', 'http://a/']]),
  ...header('the URL of a database', databaseUrl.parse, [SLASHES, ['slashes', '/', 'postgres://']]),
  ...withSize(32)('settings of no name', settingsOf, [['letters', 'A', 'NUNCIO_']]),
]

function collected(text: string): unknown {
  let values: string[] | undefined
  for (const value of text.split(',')) values = collect(value, values)
  return values
}

function settingsOf(name: string): unknown {
  return readSettings({ environment: { [name]: '1' }, envFile: {} })
}

describe('the work of parsing input from outside grows linearly', () => {
  it.each([
    ['bodies', BODIES],
    ['headers', HEADERS],
    ['URLs', URLS],
    ['media', MEDIA],
    ['what the network sends', NETWORK],
    ['the command line', COMMAND_LINE],
  ])('G11: %s', (_, parsers) => {
    const growths = parsers.map((one) => ({ name: one.name, growth: growthOfWork(one) }))

    const tooSteep = growths.filter(({ growth }) => growth > MOST_GROWTH)
    assert.deepEqual(tooSteep, [], 'twice the input costs so many times as much')
  })
})

describe('the measurement', () => {
  it('detects a parser that searches back from every colon', () => {
    const [control] = withSize(512)('control', countEscapedKeys, [COLONS])

    assert.ok(control && growthOfWork(control) > MOST_GROWTH)
  })

  it('accepts a parser that reads its input three times', () => {
    const [control] = body('control', (text) => [text, text, text].map(countColons), [COLONS])

    assert.ok(control && growthOfWork(control) < MOST_GROWTH)
  })
})

function countEscapedKeys(text: string): number {
  let keys = 0
  for (let index = text.indexOf(':'); index !== -1; index = text.indexOf(':', index + 1))
    if (text.lastIndexOf('\\', index) !== -1) keys += 1
  return keys
}

function countColons(text: string): number {
  let colons = 0
  for (let index = 0; index < text.length; index += 1) if (text[index] === ':') colons += 1
  return colons
}
