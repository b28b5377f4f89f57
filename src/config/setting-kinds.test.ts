import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseCidr } from './cidr.ts'
import {
  baseUrl,
  dnsServerList,
  headerPairs,
  host,
  networkUrl,
  publicUrl,
  whatsAppWebUrl,
  whatsAppWebVersion,
  wholeNumber,
} from './setting-kinds.ts'

const ROOT_KEY = Buffer.alloc(32, 7)
const ROOT_KEY_TEXT = ROOT_KEY.toString('base64url')

describe('a CIDR range', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['fd00::/8', 'fd00::/8'],
    ['::1', '::1/128'],
    ['0.0.0.0/0', '0.0.0.0/0'],
  ])('%s is read as %s', (text, range) => {
    assert.equal(parseCidr(text), range)
  })

  it.each([
    '10.0.0.5/8',
    '',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '10.0.0.0/08',
    'fe80::1%eth0',
    '::/129',
    'localhost',
  ])('%j is none', (text) => {
    assert.equal(parseCidr(text), null)
  })
})

describe('kinds of settings', () => {
  it.each(['-1', '1.5', '1e3', ' 7', '0x10', '99999999999999999999', ''])('%j is no whole number', (text) => {
    assert.ok('wrong' in wholeNumber(0, 1_000_000).parse(text))
  })

  it.each([
    'ftp://a.example',
    'a.example',
    'https://u:p@a.example',
    'https://a.example/?q=1',
    'https://a.example/?',
    'https://',
  ])('%s is no base URL', (text) => {
    assert.ok('wrong' in baseUrl.parse(text))
  })

  it('a base URL loses its last slash', () => {
    assert.deepEqual(baseUrl.parse('https://a.example/nuncio/'), { value: 'https://a.example/nuncio' })
  })

  it.each([
    ['https://a.example', 'https://a.example'],
    ['https://a.example/', 'https://a.example'],
    ['https://A.example:443/nuncio//', 'https://a.example/nuncio'],
    ['http://[::1]:8080/tools/nuncio-2/v1.0/~me_', 'http://[::1]:8080/tools/nuncio-2/v1.0/~me_'],
    ['https://a.example/chats', 'https://a.example/chats'],
  ])('%s is the public URL %s', (text, value) => {
    assert.deepEqual(publicUrl.parse(text), { value })
  })

  it.each([
    ['https://a.example/nuncio?', /without user name, query or fragment\.$/],
    ['https://a.example/nuncio#top', /without user name, query or fragment\.$/],
    ['a.example/nuncio', /^it must be an absolute http/],
    ['https://a.example/a/../b', /^its path must be plain, such as \/nuncio/],
    ['https://a.example/.', /^its path must be plain/],
    ['https://a.example//nuncio', /^its path must be plain/],
    ['https://a.example/%2e%2e/b', /^its path must be plain/],
    ['https://a.example\\nuncio', /^its path must be plain/],
    ['https://a.example/nüncio', /^its path must be plain/],
    ['https://a.example/nuncio\t', /^its path must be plain/],
    ['https://a.example/chat', /^its path must not begin with \/chat, because/],
    ['https://a.example/docs/nuncio/', /^its path must not begin with \/docs, because/],
  ])('%j is no public URL', (text, sentence) => {
    assert.match((publicUrl.parse(text) as { wrong: string }).wrong, sentence)
  })

  it('DNS servers may have a port', () => {
    const given = '192.0.2.1, 192.0.2.1:5353 [2001:db8::1]:5353,2001:db8::1'

    assert.deepEqual(dnsServerList.parse(given), {
      value: ['192.0.2.1', '192.0.2.1:5353', '[2001:db8::1]:5353', '2001:db8::1'],
    })
    assert.ok('wrong' in dnsServerList.parse('dns.example'))
    assert.ok('wrong' in dnsServerList.parse('192.0.2.1:70000'))
  })

  it.each(['-x', 'a b', 'a..b', 'http://a'])('%j is no host', (text) => {
    assert.ok('wrong' in host.parse(text))
  })
})

describe('where a network is', () => {
  it.each([
    ['https://graph.facebook.com', 'https://graph.facebook.com'],
    ['https://proxy.example/meta/', 'https://proxy.example/meta'],
    ['http://127.0.0.1:4010', 'http://127.0.0.1:4010'],
    ['http://[::1]:4010/', 'http://[::1]:4010'],
    ['http://localhost:4010', 'http://localhost:4010'],
  ])('may be %s', (text, value) => {
    assert.deepEqual(networkUrl.parse(text), { value })
  })

  it.each([
    '',
    'graph.facebook.com',
    'http://graph.facebook.com',
    'http://10.0.0.1',
    'http://127.0.0.1.example',
    'http://localhost.example',
    'https://user:secret@graph.facebook.com',
    'https://graph.facebook.com/?a=b',
    'ftp://127.0.0.1',
  ])('may not be %s, because tokens would go there in the clear', (text) => {
    assert.ok('wrong' in networkUrl.parse(text))
  })
})

describe('headers', () => {
  it('are pairs, whose values may hold blanks and equal signs', () => {
    assert.deepEqual(headerPairs.parse('authorization=Bearer a=b==, x-team = hosts'), {
      value: { authorization: 'Bearer a=b==', 'x-team': 'hosts' },
    })
  })

  it.each(['secret-value', '=secret-value', 'a b=secret-value', 'a=secret-value,', 'a=secret\u00e9-value', 'a='])(
    'may not be written %j, and the sentence does not repeat it',
    (text) => {
      const parsed = headerPairs.parse(text)

      assert.ok('wrong' in parsed && !parsed.wrong.includes('secret'))
    },
  )
})

describe('the URL of WhatsApp Web', () => {
  it('is that of WhatsApp, with its own certificates', () => {
    const url = 'wss://web.whatsapp.com/ws/chat'

    assert.deepEqual(whatsAppWebUrl.parse(url), { value: { url, rootKey: null } })
  })

  it.each(['127.0.0.1', '[::1]', 'localhost'])('may be that of a simulator on %s, with its key', (host) => {
    const url = `ws://${host}:4000/ws/chat`

    assert.deepEqual(whatsAppWebUrl.parse(`${url}#${ROOT_KEY_TEXT}`), {
      value: { url, rootKey: ROOT_KEY.toString('base64') },
    })
  })

  it.each([
    `ws://192.0.2.1/ws/chat#${ROOT_KEY_TEXT}`,
    'ws://127.0.0.1/ws/chat',
    'ws://127.0.0.1/ws/chat#short',
    `wss://web.whatsapp.com/ws/chat#${ROOT_KEY_TEXT}`,
    'https://web.whatsapp.com/ws/chat',
    'wss://anna:secret@web.whatsapp.com/ws/chat',
    'web.whatsapp.com',
  ])('is refused: %s', (text) => {
    assert.ok('wrong' in whatsAppWebUrl.parse(text))
  })
})

describe('the version of WhatsApp Web', () => {
  it('is three numbers, as WhatsApp writes it', () => {
    assert.deepEqual(whatsAppWebVersion.parse('2.3000.1043857760'), { value: '2.3000.1043857760' })
  })

  it.each(['2.3000.0', '2.2000.1', '1043857760', '2.3000.1.2', 'latest'])('is refused: %s', (text) => {
    assert.ok('wrong' in whatsAppWebVersion.parse(text))
  })
})
