import { parseAddressRange } from '../core/media-address/ip-address.ts'

/**
 * A range of addresses such as `10.0.0.0/8` or `fd00::/8`; a plain address means itself alone. Returns the range with
 * its prefix written out, or null when it is none: also when bits behind the prefix are set, because nobody could be
 * found in it.
 */
export function parseCidr(text: string): string | null {
  const range = parseAddressRange(text)
  if (!range) return null
  return text.includes('/') ? text : `${text}/${range.prefixLength}`
}
