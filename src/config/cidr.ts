import { isIPv4, isIPv6 } from 'node:net'

/**
 * A range of addresses such as `10.0.0.0/8` or `fd00::/8`; a plain address means itself alone. Returns the range with
 * its prefix written out, or null when it is none.
 */
export function parseCidr(text: string): string | null {
  const [address = '', prefix, ...rest] = text.split('/')
  // A zone (`fe80::1%eth0`) names an interface of this machine; no peer's address can be compared with it.
  if (rest.length > 0 || address.includes('%')) return null
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : null
  if (bits === null) return null
  if (prefix === undefined) return `${address}/${bits}`
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > bits) return null
  return `${address}/${prefix}`
}
