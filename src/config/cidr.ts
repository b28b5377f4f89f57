import { parseAddressRange } from '../core/media-address/ip-address.ts'

/**
 * A range of addresses such as `10.0.0.0/8` or `fd00::/8`; a plain address is a range of one. Returns the range with its
 * prefix, or null when the text is none, or when bits after the prefix are set, because then no address would match.
 */
export function parseCidr(text: string): string | null {
  const range = parseAddressRange(text)
  if (!range) return null
  return text.includes('/') ? text : `${text}/${range.prefixLength}`
}
