import { type AddressRange, type IpAddress, isWithin, parseAddressRange } from './ip-address.ts'

// IPv4 is nearly used up, so new special blocks are rare: a deny list holds.
const IPV4_NOT_PUBLIC = ranges(
  '0.0.0.0/8', // "this network"; Linux connects 0.0.0.0 to the machine itself
  '10.0.0.0/8',
  '100.64.0.0/10', // behind the provider's address translation; a cloud's metadata service too
  '127.0.0.0/8',
  '168.63.129.16/32', // a cloud's agent for its machines, on an address that seems public
  '169.254.0.0/16', // link local: the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24', // 6to4 relay
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
)

// In IPv6 the larger part is unassigned and new special blocks appear, so the rule is the other way round: only global
// unicast is allowed. What carries an IPv4 address inside (::ffff:0:0/96, ::/96, 64:ff9b::/96) lies outside of it.
const IPV6_GLOBAL_UNICAST = ranges('2000::/3')
const IPV6_NOT_PUBLIC = ranges(
  '2001::/23', // Teredo, ORCHID and other protocols' own
  '2001:db8::/32',
  '2002::/16', // 6to4: carries an IPv4 address, private ones too
  '2620:4f:8000::/48',
  '3fff::/20',
)

// What a machine or a company gives its own. Others are never opened for a test: a cloud's metadata service is among them.
const USUAL_PRIVATE = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1/128', 'fc00::/7'].map(
  (network) => ({ network, range: ranges(network) }),
)

/** The private network that an operator may open for this address. Null: none that is usual. */
export function privateNetworkOf(address: IpAddress): string | null {
  return USUAL_PRIVATE.find(({ range }) => isWithin(address, range))?.network ?? null
}

/** Whether this address is reachable from the internet. Pure. */
export function isPublic(address: IpAddress): boolean {
  if (address.family === 4) return !isWithin(address, IPV4_NOT_PUBLIC)
  return isWithin(address, IPV6_GLOBAL_UNICAST) && !isWithin(address, IPV6_NOT_PUBLIC)
}

function ranges(...texts: readonly string[]): readonly AddressRange[] {
  return texts.map((text) => {
    const range = parseAddressRange(text)
    if (!range) throw new Error(`Not a range: ${text}`)
    return range
  })
}
