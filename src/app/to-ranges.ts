import { type AddressRange, parseAddressRange } from '../core/media-address/ip-address.ts'

/** Ranges of a setting, which has refused whatever is none. */
export function toRanges(texts: readonly string[]): readonly AddressRange[] {
  return texts.map(parseAddressRange).filter((range) => range !== null)
}
