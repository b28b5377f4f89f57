import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAddressRange, parseIpAddress } from './ip-address.ts'
import { type JudgedUrl, judgeMediaUrl, MEDIA_PORTS } from './judge-url.ts'
import { isPublicAddress } from './public-address.ts'

const NOT_PUBLIC = [
  // Every way to write 127.0.0.1 (1-15)
  ...['http://127.0.0.1/', 'http://127.1/', 'http://127.0.1/', 'http://127.0.0.1:80/', 'https://127.0.0.1/'],
  ...['http://2130706433/', 'http://0x7f000001/', 'http://017700000001/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://0x7f.0x0.0x0.0x1/'],
  ...['http://127.0.0.1./', 'http://①②⑦.⓪.⓪.①/', 'http://127。0。0。1/', 'http://127．0．0．1/', 'http://127｡0｡0｡1/', 'http://%31%32%37.0.0.1/'],
  ...['http://127%2e0%2e0%2e1/', 'http://１２７.0.0.1/', 'HTTP://127.0.0.1/', 'http://127.255.255.254/', 'http://127.0.0.1?x', 'http://127.0.0.1#x', 'http://127.0.0.1'],
  // IPv6 (19-43)
  ...['http://[::1]/', 'http://[::]/', 'http://[0:0:0:0:0:0:0:1]/', 'http://[0000::0001]/', 'http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]/'],
  ...['http://[::FFFF:8.8.8.8]/', 'http://[::127.0.0.1]/', 'http://[::7f00:1]/', 'http://[::ffff:0:127.0.0.1]/'],
  ...['http://[64:ff9b::127.0.0.1]/', 'http://[64:ff9b::a9fe:a9fe]/', 'http://[64:ff9b:1::7f00:1]/', 'http://[2002:7f00:1::]/'],
  ...['http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/', 'http://[100::1]/', 'http://[2001:db8::1]/', 'http://[3fff::1]/', 'http://[5f00::1]/'],
  ...['http://[2001:20::1]/', 'http://[fe80::1]/', 'http://[fc00::1]/', 'http://[fd00:ec2::254]/', 'http://[fec0::1]/', 'http://[ff02::1]/'],
  // Private, local and special IPv4 (46-54)
  ...['http://10.0.0.1/', 'http://172.16.0.1/', 'http://172.31.255.255/', 'http://192.168.0.1/', 'http://169.254.169.254/latest/meta-data/'],
  ...['http://2852039166/', 'http://0xa9fea9fe/', 'http://100.100.100.200/', 'http://192.0.0.192/', 'http://168.63.129.16/', 'http://0/', 'http://0.0.0.0/'],
  ...['http://0x0/', 'http://255.255.255.255/', 'http://224.0.0.1/', 'http://198.18.0.1/', 'http://4294967295/', 'http://10.1:8080/'],
  // Names that are not on the internet (61-66)
  ...['http://localhost/', 'http://LOCALHOST./', 'http://ⓛocalhost/', 'http://a.localhost/', 'http://intranet/', 'http://intranet./', 'http://db:8080/'],
  ...['http://printer.local/', 'http://metadata.google.internal/', 'http://x.localdomain/', 'http://router.home/', 'http://nas.lan/', 'http://x.corp/'],
  ...['http://1.0.0.127.in-addr.arpa/', 'http://router.home.arpa/', 'http://x.onion/', 'http://x.test/', 'http://x.invalid/', 'http://x.example/', 'http://x.LOCAL./', 'http://x。local/'],
]

const MALFORMED = [
  ...['http://08.8.8.8/', 'http://256.256.256.256/', 'http://4294967296/', 'http://1.2.3.4.5/', 'http://127.0.0.1.5/', 'http://0x100000000/', 'http://1.2.3.09/'],
  ...['http://example.com\\@127.0.0.1/', 'http:\\\\127.0.0.1/', 'http://127.0.0.1\\.example.com/', 'http://example.com/\\..\\x'],
  ...['http://127.0.0.1%00.example.com/', 'http://[::1]]/', '//127.0.0.1/', 'http://[::1/', 'http://::1/', 'http://[::1%25lo]/', 'http://[fe80::1%eth0]/', 'http://[v1.x]/', 'http://[127.0.0.1]/'],
  ...['', ' ', 'x', '/', 'http:', 'http:/', 'http://', 'http:///', 'http:///127.0.0.1/', 'http:127.0.0.1', 'http:/127.0.0.1', 'https:///example.com/', 'http://?x', 'http://#x'],
  ...[' http://example.com/', 'http://example.com/ ', 'http://example.com/a b', 'http://exa\tmple.com/', 'ht\ntp://example.com/', 'http://example.com/\u0000', 'http://example.com/\u007f', '\u0001http://example.com/'],
  ...['ftp://example.com/', 'file:///etc/passwd', 'gopher://127.0.0.1/', 'data:image/png,x', 'javascript:alert(1)', 'ws://example.com/', 'httpx://example.com/', 'http+unix://x/', 'blob:http://example.com/x'],
  ...['http://a..b/', 'http://.example.com/', 'http://example.com../', 'http://a!b.com/', 'http://exa$mple.com/', 'http://exam(ple.com/', `http://${'a'.repeat(64)}.com/`, `http://${'a.'.repeat(127)}com/`],
  ...['http://example.com:x/', 'http://example.com:65536/', 'http://example.com:-1/', 'http://exa%mple.com/', 'http://exa<mple.com/', 'http://example.com/\ud800', '\ufeffhttp://example.com/'],
]

const CREDENTIALS = [
  ...['http://user@example.com/', 'http://user:pass@example.com/', 'http://:pass@example.com/', 'http://@example.com/', 'http://:@example.com/', 'http://user@127.0.0.1/'],
  ...['http://example.com@127.0.0.1/', 'http://127.0.0.1:80@example.com/', 'http://a:b@c@example.com/', 'http://%75ser@example.com/'],
]

const PORTS = [
  ...['http://example.com:22/', 'http://example.com:25/', 'http://example.com:6379/', 'http://example.com:0/', 'http://example.com:8081/', 'https://example.com:65535/'],
  ...['http://8.8.8.8:53/', 'http://[2001:4860:4860::8888]:22/', 'http://example.com:00022/'],
]

const FINE: readonly (readonly [url: string, canonical: string])[] = [
  ['http://8.8.8.8/a.png', 'http://8.8.8.8/a.png'],
  ['http://[2001:4860:4860::8888]/a.png', 'http://[2001:4860:4860::8888]/a.png'],
  ['http://[2001:4860:4860:0:0:0:0:8888]:8080/a.png', 'http://[2001:4860:4860::8888]:8080/a.png'],
  ['HTTPS://Example.COM', 'https://example.com/'],
  ['https://example.com./a', 'https://example.com/a'],
  ['https://example.com.:8443/a', 'https://example.com:8443/a'],
  ['http://example.com:80/x', 'http://example.com/x'],
  ['http://example.com:443/x', 'http://example.com:443/x'],
  ['http://134744072/', 'http://8.8.8.8/'],
  ['http://bücher.de/ä?ö=ü#x', 'http://xn--bcher-kva.de/%C3%A4?%C3%B6=%C3%BC#x'],
  ['http://example.com/a/../b/%2e%2e/c', 'http://example.com/c'],
  ['http://example.com/a@b?c=d@e', 'http://example.com/a@b?c=d@e'],
  ['https://my_bucket.s3.example.com/%E2%82%AC', 'https://my_bucket.s3.example.com/%E2%82%AC'],
  ['http://127.0.0.1.nip.io/', 'http://127.0.0.1.nip.io/'],
  ['http://localhost.example.com/', 'http://localhost.example.com/'],
  ['http://example.localhost.com/', 'http://example.localhost.com/'],
]

describe('judgeMediaUrl', () => {
  it.each(NOT_PUBLIC)('G9: refuses %s at once, as not public', (url) => {
    expect(judgeMediaUrl(url)).toMatchObject({ ok: false, code: 'url_not_public' })
  })

  it.each(MALFORMED)('G9: refuses %j at once, as malformed', (url) => {
    expect(judgeMediaUrl(url)).toMatchObject({ ok: false, code: 'url_malformed' })
  })

  it.each(CREDENTIALS)('G9: refuses %s at once, for its user part', (url) => {
    expect(judgeMediaUrl(url)).toMatchObject({ ok: false, code: 'url_has_credentials' })
  })

  it.each(PORTS)('G9: refuses %s at once, for its port', (url) => {
    expect(judgeMediaUrl(url)).toMatchObject({ ok: false, code: 'url_port_refused' })
  })

  it.each(FINE)('allows %s and keeps its canonical form', (url, canonical) => {
    expect(judgeMediaUrl(url)).toMatchObject({ ok: true, url: canonical, needsAllowedRange: false })
  })

  it('says what the connection needs', () => {
    expect(judgeMediaUrl('https://Files.Example.com.:8443/a')).toMatchObject({ host: 'files.example.com', isAddress: false, port: 8443, isTls: true })
    expect(judgeMediaUrl('http://[2001:4860:4860::8888]/')).toMatchObject({ host: '2001:4860:4860::8888', isAddress: true, port: 80, isTls: false })
  })

  it('takes 2,048 characters and not one more', () => {
    const base = 'https://example.com/'

    expect(judgeMediaUrl(base + 'a'.repeat(2048 - base.length)).ok).toBe(true)
    expect(judgeMediaUrl(base + 'a'.repeat(2049 - base.length))).toMatchObject({ code: 'url_malformed' })
    expect(judgeMediaUrl(base + '😀'.repeat(2048 - base.length)).ok).toBe(true)
    expect(judgeMediaUrl(base + '😀'.repeat(2049 - base.length))).toMatchObject({ code: 'url_malformed' })
    expect(judgeMediaUrl(`http://${'a'.repeat(10_000_000)}`)).toMatchObject({ code: 'url_malformed' })
  })
})

describe('judgeMediaUrl with ranges that the operator opened', () => {
  const allowed = ['127.0.0.2/32', 'fd00::/8'].map((text) => parseAddressRange(text)!)

  it.each(['http://127.0.0.2/', 'http://127.0.0.2:9000/', 'http://2130706434:1/', 'http://[fd00::1]:22/', 'https://[fd12:3::4]/'])(
    'allows %s on any port',
    (url) => {
      expect(judgeMediaUrl(url, allowed)).toMatchObject({ ok: true, isAddress: true, needsAllowedRange: true })
    },
  )

  it.each(['http://127.0.0.1/', 'http://127.0.0.3/', 'http://10.0.0.1/', 'http://[::1]/', 'http://[::ffff:127.0.0.2]/', 'http://[64:ff9b::127.0.0.2]/', 'http://169.254.169.254/'])(
    'G9: still refuses %s',
    (url) => {
      expect(judgeMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_not_public' })
    },
  )

  it.each(['http://localhost:3000/', 'http://minio:9000/', 'http://files.internal/', 'http://x.test:1/'])(
    'leaves %s to the fetch, which must find an allowed address',
    (url) => {
      expect(judgeMediaUrl(url, allowed)).toMatchObject({ ok: true, isAddress: false, needsAllowedRange: true })
    },
  )

  it.each(PORTS)('G9: still refuses the port of %s', (url) => {
    expect(judgeMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_port_refused' })
  })

  it.each(CREDENTIALS)('G9: still refuses the user part of %s', (url) => {
    expect(judgeMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_has_credentials' })
  })

  it('does not excuse a public name', () => {
    expect(judgeMediaUrl('https://example.com/', allowed)).toMatchObject({ ok: true, needsAllowedRange: false })
  })
})

/** Hosts of every class, spelt and then spoilt in the ways that parsers have been fooled with. */
const hosts = fc.oneof(
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.ipV4().map((address) => `[::ffff:${address}]`),
  fc.tuple(fc.constantFrom('64:ff9b::', '2002:', '::', '2001:0:'), fc.ipV4()).map(([prefix, address]) => `[${prefix}${address}]`),
  fc.nat(0xffff_ffff).map(String),
  fc.nat(0xffff_ffff).map((word) => `0x${word.toString(16)}`),
  fc.constantFrom('127.0.0.1', '127.1', '169.254.169.254', '[::1]', 'localhost', 'example.com', '10.0.0.1', '8.8.8.8'),
  fc.domain(),
)
const pieces = [...'.:@/\\?#%[]\t\n\0 。．①⑦０x'.split(''), '%00', '%2e', '%40', '%5b', '..', '@127.0.0.1', ':80', ':22', '#@', 'localhost', '\u00ad', '\u200b', 'ß', 'K']
const mutations = fc.array(fc.tuple(fc.nat(60), fc.constantFrom(...pieces), fc.boolean()), { maxLength: 3 })
const urls = fc
  .tuple(fc.constantFrom(...Array(4).fill('http://'), 'https://', 'HTTP://', 'http:/', 'http:///', 'https:\\\\'), fc.constantFrom(...Array(6).fill(''), 'u@', 'u:p@', '@'), hosts, fc.constantFrom('', ':80', ':8443', ':22', ':'), fc.constantFrom('', '/', '/a.png', '?x', '#x', '/@127.0.0.1/'), mutations)
  .map(([scheme, user, host, port, path, spoils]) => {
    let url = scheme + user + host + port + path
    for (const [at, piece, replaces] of spoils) url = url.slice(0, at) + piece + url.slice(at + (replaces ? 1 : 0))
    return url
  })

describe('judgeMediaUrl on spoilt URLs', () => {
  it('G9: lets no address through that is not public, whatever the spelling', () => {
    let passed = 0

    fc.assert(
      fc.property(urls, (url) => {
        const judged = judgeMediaUrl(url)
        if (!judged.ok) return
        passed += 1
        const seen = new URL(judged.url)
        const host = seen.hostname.replace(/^\[|\]$/g, '')
        expect(['http:', 'https:']).toContain(seen.protocol)
        expect(seen.username + seen.password).toBe('')
        expect(MEDIA_PORTS).toContain(judged.port)
        expect(host).toBe(judged.host)
        expect(parseIpAddress(host) !== null).toBe(judged.isAddress)
        if (judged.isAddress) expect(isPublicAddress(host), url).toBe(true)
        else expect(host).toMatch(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.[a-z0-9_-]*[a-z_-][a-z0-9_-]*$/)
      }),
      { numRuns: 30_000 },
    )

    // The property would hold for a judge that refuses everything.
    expect(passed).toBeGreaterThan(1000)
  })

  it('judges its own canonical form alike', () => {
    fc.assert(
      fc.property(urls, (url) => {
        const judged = judgeMediaUrl(url)
        if (judged.ok && judged.url.length <= 2048) expect(judgeMediaUrl(judged.url)).toEqual(judged satisfies JudgedUrl)
      }),
      { numRuns: 10_000 },
    )
  })
})
