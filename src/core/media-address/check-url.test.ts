import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CREDENTIALS, FINE, MALFORMED, NOT_PUBLIC, PORTS } from '../../../test/support/media-world/hostile-urls.ts'
import { isPublicAddress } from '../../../test/support/media-world/is-public-address.ts'
import { spoiltUrls as urls } from '../../../test/support/media-world/spoilt-urls.ts'
import { type CheckedUrl, checkMediaUrl, MEDIA_PORTS, parseWebUrl } from './check-url.ts'
import { parseAddressRange, parseIpAddress } from './ip-address.ts'

const ranges = (...texts: readonly string[]) => texts.map((text) => parseAddressRange(text)!)

describe('checkMediaUrl', () => {
  it.each(NOT_PUBLIC)('G9: refuses %s at once, as not public', (url) => {
    expect(checkMediaUrl(url)).toMatchObject({ ok: false, code: 'url_not_public' })
  })

  it.each(MALFORMED)('G9: refuses %j at once, as malformed', (url) => {
    expect(checkMediaUrl(url)).toMatchObject({ ok: false, code: 'url_malformed' })
  })

  it.each(CREDENTIALS)('G9: refuses %s at once, for its user part', (url) => {
    expect(checkMediaUrl(url)).toMatchObject({ ok: false, code: 'url_has_credentials' })
  })

  it.each(PORTS)('G9: refuses %s at once, for its port', (url) => {
    expect(checkMediaUrl(url)).toMatchObject({ ok: false, code: 'url_port_refused' })
  })

  it.each(FINE)('allows %s with the host that the parser reads, and the rest as it was written', (url, canonical) => {
    expect(checkMediaUrl(url)).toMatchObject({ ok: true, url: canonical, needsAllowedRange: false })
  })

  it('G9: allows our own sample files, and nothing beside them', () => {
    const sample = 'http://127.0.0.1:8090/docs/samples/photo.jpg'
    const own = { allowed: [], refused: [], samples: new Map([[sample, '/photo.jpg']]) }

    expect(checkMediaUrl(sample, own)).toMatchObject({ ok: true, url: sample })
    const atUsualPort = sample.replace(':8090', ':80')
    expect(checkMediaUrl(atUsualPort, { ...own, samples: new Map([[atUsualPort, '/photo.jpg']]) })).toMatchObject({
      ok: true,
      url: atUsualPort,
    })
    for (const beside of [`${sample}?a`, `${sample}#a`, sample.replace('samples', 'samples/..'), `${sample}/`])
      expect(checkMediaUrl(beside, own)).toMatchObject({
        ok: false,
        code: 'sample_unknown',
        detail: 'There is no sample file at this URL. Those that there are: photo.jpg.',
      })
  })

  it('names our samples and the setting to who asks for one at the wrong port', () => {
    const sample = 'http://127.0.0.1:8090/docs/samples/photo.jpg'
    const own = { allowed: [], refused: [], samples: new Map([[sample, '/photo.jpg']]) }
    const help =
      'To try it out, use one of our samples in http://127.0.0.1:8090/docs/samples/: photo.jpg. Or ask the operator to set NUNCIO_MEDIA_ALLOWED_PRIVATE=127.0.0.0/8 and to restart Nuncio.'

    for (const host of ['127.0.0.1:8080', 'localhost:8080'])
      expect(checkMediaUrl(sample.replace('127.0.0.1:8090', host), own)).toMatchObject({
        code: 'url_not_public',
        detail: expect.stringContaining(help),
      })
    expect(checkMediaUrl('http://10.0.0.1/', own)).toMatchObject({
      detail: expect.stringContaining(' NUNCIO_MEDIA_ALLOWED_PRIVATE=10.0.0.0/8 and to restart Nuncio.'),
    })
    expect(checkMediaUrl('http://169.254.169.254/', own)).toMatchObject({
      detail: expect.stringMatching(/photo\.jpg\.$/),
    })
    expect(checkMediaUrl('http://10.0.0.1/')).toMatchObject({
      detail: 'The URL names an address that is not public: use one on the internet.',
    })
  })

  it('says what the connection needs', () => {
    expect(checkMediaUrl('https://Files.Example.com.:8443/a')).toMatchObject({
      host: 'files.example.com',
      isAddress: false,
      port: 8443,
      isTls: true,
    })
    expect(checkMediaUrl('http://[2001:4860:4860::8888]/')).toMatchObject({
      host: '2001:4860:4860::8888',
      isAddress: true,
      port: 80,
      isTls: false,
    })
  })

  it('takes 2,048 characters and not one more', () => {
    const base = 'https://example.com/'

    expect(checkMediaUrl(base + 'a'.repeat(2048 - base.length)).ok).toBe(true)
    expect(checkMediaUrl(base + 'a'.repeat(2049 - base.length))).toMatchObject({ code: 'url_malformed' })
    expect(checkMediaUrl(base + '😀'.repeat(2048 - base.length)).ok).toBe(true)
    expect(checkMediaUrl(base + '😀'.repeat(2049 - base.length))).toMatchObject({ code: 'url_malformed' })
    expect(checkMediaUrl(`http://${'a'.repeat(10_000_000)}`)).toMatchObject({ code: 'url_malformed' })
  })
})

describe('parseWebUrl', () => {
  // 300 characters of the host, written as 900.
  const long = '%61'.repeat(300)

  it.each([`//${long}/a`, `https:${long}`, `http:////${long}`, `//a@${long}:80`, `WSS://${long}?a`])(
    'refuses a host of more than 512 characters: %.20s',
    (text) => {
      expect(parseWebUrl(text, 'https://example.com/a/b')).toBeNull()
    },
  )

  it.each([
    [`/${long}`, `https://example.com/${long}`],
    [`${long}/c`, `https://example.com/a/${long}/c`],
    [`?${long}`, `https://example.com/a/b?${long}`],
    [`//${long}@example.org/`, `https://${long}@example.org/`],
    [`//${'%61'.repeat(60)}.org`, `https://${'a'.repeat(60)}.org/`],
  ])('reads what is long elsewhere: %.20s', (text, expected) => {
    expect(parseWebUrl(text, 'https://example.com/a/b')?.href).toBe(expected)
  })
})

describe('checkMediaUrl with ranges that the operator closed', () => {
  const closed = { allowed: ranges('10.0.0.0/8'), refused: ranges('8.8.0.0/16', '2606:4700::/32', '10.1.0.0/16') }

  it.each([
    'http://8.8.8.8/',
    'http://134744072/',
    'https://[2606:4700::1]/',
    'http://[2606:4700:0:0:0:0:0:1]:8080/',
    'http://10.1.0.1:9000/',
  ])('G9: refuses %s', (url) => {
    expect(checkMediaUrl(url, closed)).toMatchObject({ ok: false, code: 'url_not_public' })
  })

  it.each(['http://8.9.8.8/', 'https://[2606:4701::1]/', 'http://10.2.0.1:9000/', 'https://example.com/'])(
    'leaves %s open',
    (url) => {
      expect(checkMediaUrl(url, closed)).toMatchObject({ ok: true })
    },
  )
})

describe('checkMediaUrl with ranges that the operator opened', () => {
  const allowed = { allowed: ranges('127.0.0.2/32', 'fd00::/8'), refused: [] }

  it.each([
    'http://127.0.0.2/',
    'http://127.0.0.2:9000/',
    'http://2130706434:1/',
    'http://[fd00::1]:22/',
    'https://[fd12:3::4]/',
  ])('allows %s on any port', (url) => {
    expect(checkMediaUrl(url, allowed)).toMatchObject({ ok: true, isAddress: true, needsAllowedRange: true })
  })

  it.each([
    'http://127.0.0.1/',
    'http://127.0.0.3/',
    'http://10.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.2]/',
    'http://[64:ff9b::127.0.0.2]/',
    'http://169.254.169.254/',
  ])('G9: still refuses %s', (url) => {
    expect(checkMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_not_public' })
  })

  it.each(['http://localhost:3000/', 'http://minio:9000/', 'http://files.internal/', 'http://x.test:1/'])(
    'leaves %s to the fetch, which must find an allowed address',
    (url) => {
      expect(checkMediaUrl(url, allowed)).toMatchObject({ ok: true, isAddress: false, needsAllowedRange: true })
    },
  )

  it.each(PORTS)('G9: still refuses the port of %s', (url) => {
    expect(checkMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_port_refused' })
  })

  it.each(CREDENTIALS)('G9: still refuses the user part of %s', (url) => {
    expect(checkMediaUrl(url, allowed)).toMatchObject({ ok: false, code: 'url_has_credentials' })
  })

  it('does not excuse a public name', () => {
    expect(checkMediaUrl('https://example.com/', allowed)).toMatchObject({ ok: true, needsAllowedRange: false })
  })
})

/** Checks what passes. The property would hold for a rule that refuses everything, so more than `least` must. */
function checkPassed(
  { runs, least }: { readonly runs: number; readonly least: number },
  check: (checked: CheckedUrl, url: string) => void,
): void {
  let passed = 0
  fc.assert(
    fc.property(urls, (url) => {
      const checked = checkMediaUrl(url)
      if (!checked.ok) return
      passed += 1
      check(checked, url)
    }),
    { numRuns: runs },
  )
  expect(passed).toBeGreaterThan(least)
}

describe('checkMediaUrl on spoilt URLs', () => {
  it('G9: lets no address through that is not public, whatever the spelling', () => {
    checkPassed({ runs: 30_000, least: 1000 }, (checked, url) => {
      const seen = new URL(checked.url)
      const host = seen.hostname.replace(/^\[|\]$/g, '')
      expect(['http:', 'https:']).toContain(seen.protocol)
      expect(seen.username + seen.password).toBe('')
      expect(MEDIA_PORTS).toContain(checked.port)
      expect(host).toBe(checked.host)
      expect(parseIpAddress(host) !== null).toBe(checked.isAddress)
      if (checked.isAddress) expect(isPublicAddress(host), url).toBe(true)
      else expect(host).toMatch(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.[a-z0-9_-]*[a-z_-][a-z0-9_-]*$/)
    })
  })

  it('G9: asks for what the URL parser reads, whichever way it is written', () => {
    checkPassed({ runs: 10_000, least: 300 }, (checked, url) => {
      const [read, asked] = [new URL(url), new URL(checked.url)]
      expect([asked.hostname, asked.port]).toEqual([read.hostname.replace(/\.$/, ''), read.port])
      expect(asked.pathname + asked.search).toBe(read.pathname + read.search)
      expect(checked.path, url).toMatch(/^\/[\x21-\x7e]*$/)
      expect(checked.url).toBe(asked.origin + checked.path)
    })
  })

  it('accepts its own canonical form', () => {
    fc.assert(
      fc.property(urls, (url) => {
        const checked = checkMediaUrl(url)
        if (checked.ok && checked.url.length <= 2048)
          expect(checkMediaUrl(checked.url)).toEqual(checked satisfies CheckedUrl)
      }),
      { numRuns: 10_000 },
    )
  })
})
