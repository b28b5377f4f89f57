import { isIP, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isWithin, parseAddressRange, parseIpAddress } from './ip-address.ts'

const NOT_AN_ADDRESS = [
  ...[
    '',
    ' ',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.04',
    '0x1.2.3.4',
    '1.2.3.4 ',
    '+1.2.3.4',
    '1..3.4',
    '1.2.3.',
    '١.2.3.4',
  ],
  ...[
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    'g::',
    '::1%eth0',
    '::1%0',
    'fe80::1%25eth0',
    '[::1]',
  ],
  ...[
    '::1.2.3',
    '::1.2.3.256',
    '1.2.3.4::',
    '::01.2.3.4',
    '1:2:3:4:5:6:7:1.2.3.4',
    '::1 ',
    ' ::1',
    '::1/128',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
  ],
]

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
const dotted = octets.map((parts) => parts.join('.'))
const garbled = fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF:.%/x []g-'.split('')), maxLength: 40 })

describe('parseIpAddress', () => {
  it.each(NOT_AN_ADDRESS)('refuses %j, as node:net does', (text) => {
    expect(parseIpAddress(text)).toBeNull()
    if (!text.includes('%')) expect(isIP(text)).toBe(0)
  })

  it('reads every spelling of one IPv6 address alike', () => {
    const spellings = [
      '::1',
      '0::1',
      '0:0:0:0:0:0:0:1',
      '::0.0.0.1',
      '0000:0000:0000:0000:0000:0000:0000:0001',
      '0:0::0:1',
    ]

    const read = spellings.map((text) => parseIpAddress(text))

    expect(read.every((address) => address !== null)).toBe(true)
    for (const address of read) expect(address).toEqual({ family: 6, words: [0, 0, 0, 1] })
  })

  it('accepts exactly what node:net accepts, zone ids aside', () => {
    fc.assert(
      fc.property(fc.oneof(garbled, fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), dotted), (text) => {
        const family = isIPv4(text) ? 4 : isIPv6(text) && !text.includes('%') ? 6 : null
        expect(parseIpAddress(text)?.family ?? null).toBe(family)
      }),
      { numRuns: 5000 },
    )
  })
})

describe('parseAddressRange', () => {
  it.each(['10.0.0.0/8', '127.0.0.2/32', '127.0.0.2', '0.0.0.0/0', 'fd00::/8', '::1/128', '::1', '2001:db8::/33'])(
    'reads %s',
    (text) => {
      expect(parseAddressRange(text)).not.toBeNull()
    },
  )

  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0.1/8',
    'fd00::1/8',
    '::/129',
    'host/8',
    '10.0.0.0/8 ',
    '10.0.0.0/1e1',
  ])('refuses %j', (text) => {
    expect(parseAddressRange(text)).toBeNull()
  })

  it.each([
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::ffff:10.0.0.1', '::a00:1']],
    ['128.0.0.0/1', ['128.0.0.0', '255.255.255.255'], ['127.255.255.255', '0.0.0.0']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::', '::1']],
    ['127.0.0.2/32', ['127.0.0.2'], ['127.0.0.1', '127.0.0.3', '::ffff:127.0.0.2']],
    ['fc00::/7', ['fc00::', 'fdff:ffff::1'], ['fbff::', 'fe00::']],
    ['2001:db8:0:8000::/49', ['2001:db8:0:8000::', '2001:db8:0:ffff::1'], ['2001:db8:0:7fff::', '2001:db8:1:8000::']],
  ])('%s covers %j and not %j', (range, inside, outside) => {
    const ranges = [parseAddressRange(range)!]

    for (const text of inside) expect(isWithin(parseIpAddress(text)!, ranges), text).toBe(true)
    for (const text of outside) expect(isWithin(parseIpAddress(text)!, ranges), text).toBe(false)
  })
})
