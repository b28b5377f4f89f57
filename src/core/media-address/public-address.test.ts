import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPublicAddress } from '../../../test/support/media-world/is-public-address.ts'

/** First and last address of each refused IPv4 block, and the public neighbours. */
const IPV4_EDGES: readonly (readonly [first: string, last: string, before: string | null, after: string | null])[] = [
  ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '239.255.255.255', '223.255.255.255', null],
  ['240.0.0.0', '255.255.255.255', '223.255.255.255', null],
]

const IPV6_REFUSED = [
  ...['::', '::1', '::7f00:1', '::127.0.0.1', '::8.8.8.8', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:8.8.8.8'],
  ...['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::8.8.8.8', '64:ff9b:1::7f00:1', '100::1', '100:0:0:1::1'],
  ...[
    '2001:0:4136:e378:8000:63bf:80ff:fffe',
    '2001::',
    '2001:1ff:ffff::',
    '2001:20::1',
    '2001:db8::1',
    '2001:db8:ffff:ffff::',
  ],
  ...[
    '2002::',
    '2002:7f00:1::',
    '2002:ffff::1',
    '2620:4f:8000::1',
    '3fff::1',
    '3fff:fff:ffff::',
    '4000::1',
    '5f00::1',
    '1fff::1',
  ],
  ...[
    'fc00::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::1',
    'fe80::1%eth0',
    'fe80::1%1',
    '2001:4860::1%1',
    'fec0::1',
    'ff02::1',
    'ff0e::1',
  ],
]
const IPV6_PUBLIC = [
  ...['2000::1', '2001:200::1', '2001:4860:4860::8888', '2003::1', '2606:4700:4700::1111', '2a00:1450:4001::1'],
  ...['2001:db7:ffff::1', '2001:db9::1', '2620:4f:7fff::1', '2620:4f:8001::1', '3ffe::1', '3fff:1000::1'],
]

describe('isPublicAddress', () => {
  it.each(IPV4_EDGES)('G9: refuses %s to %s and stops right there', (...edge) => {
    const [first, last, before, after] = edge
    expect(isPublicAddress(first)).toBe(false)
    expect(isPublicAddress(last)).toBe(false)
    if (before) expect(isPublicAddress(before)).toBe(true)
    if (after) expect(isPublicAddress(after)).toBe(true)
  })

  it.each(IPV6_REFUSED)('G9: refuses %s', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([...IPV6_PUBLIC, '8.8.8.8', '1.1.1.1', '223.255.255.254'])('takes %s for public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each(['', 'example.com', '127.1', '0x7f.0.0.1', '8.8.8', '8.8.8.8/32', '[2001:4860:4860::8888]'])(
    'G9: takes nothing for public that is not a plain address: %j',
    (text) => {
      expect(isPublicAddress(text)).toBe(false)
    },
  )

  it('G9: agrees with the block list of Node on random addresses', () => {
    const blocked = new BlockList()
    for (const [first, last] of IPV4_EDGES) blocked.addRange(first, last, 'ipv4')
    const unicast = new BlockList()
    unicast.addSubnet('2000::', 3, 'ipv6')
    const special = new BlockList()
    for (const [network, prefix] of [
      ['2001::', 23],
      ['2001:db8::', 32],
      ['2002::', 16],
      ['2620:4f:8000::', 48],
      ['3fff::', 20],
    ] as const) {
      special.addSubnet(network, prefix, 'ipv6')
    }
    const nearSpecial = fc
      .tuple(
        fc.constantFrom('2001', '2002', '2620', '3fff', '2001:db8', '2620:4f', '2a00', '1fff', '4000'),
        fc.nat(0xffff),
        fc.nat(0xffff),
      )
      .map(([start, middle, end]) => `${start}:${middle.toString(16)}::${end.toString(16)}`)

    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), nearSpecial), (address) => {
        const isPublic = isIPv6(address)
          ? unicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
          : !blocked.check(address, 'ipv4')
        expect(isPublicAddress(address), address).toBe(isPublic)
      }),
      { numRuns: 5000 },
    )
  })
})
