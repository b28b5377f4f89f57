import fc from 'fast-check'

/** Hosts of every class, spelled correctly and then spoiled in ways that have fooled parsers. */
const hosts = fc.oneof(
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.ipV4().map((address) => `[::ffff:${address}]`),
  fc
    .tuple(fc.constantFrom('64:ff9b::', '2002:', '::', '2001:0:'), fc.ipV4())
    .map(([prefix, address]) => `[${prefix}${address}]`),
  fc.nat(0xffff_ffff).map(String),
  fc.nat(0xffff_ffff).map((word) => `0x${word.toString(16)}`),
  fc.constantFrom('127.0.0.1', '127.1', '169.254.169.254', '[::1]', 'localhost', 'example.com', '10.0.0.1', '8.8.8.8'),
  fc.domain(),
)
const pieces = [
  ...'.:@/\\?#%[]\t\n\0 。．①⑦０x'.split(''),
  '%00',
  '%2e',
  '%40',
  '%5b',
  '..',
  '@127.0.0.1',
  ':80',
  ':22',
  '#@',
  'localhost',
  '\u00ad',
  '\u200b',
  'ß',
  '\u212a',
]
const mutations = fc.array(fc.tuple(fc.nat(60), fc.constantFrom(...pieces), fc.boolean()), { maxLength: 3 })
/** URLs, most of them wrong in a way that some parser accepts. */
export const spoiltUrls = fc
  .tuple(
    fc.constantFrom(...Array(4).fill('http://'), 'https://', 'HTTP://', 'http:/', 'http:///', 'https:\\\\'),
    fc.constantFrom(...Array(6).fill(''), 'u@', 'u:p@', '@'),
    hosts,
    fc.constantFrom('', ':80', ':8443', ':22', ':'),
    fc.constantFrom('', '/', '/a.png', '?x', '#x', '/@127.0.0.1/'),
    mutations,
  )
  .map(([scheme, user, host, port, path, spoils]) => {
    let url = scheme + user + host + port + path
    for (const [at, piece, replaces] of spoils) url = url.slice(0, at) + piece + url.slice(at + (replaces ? 1 : 0))
    return url
  })
