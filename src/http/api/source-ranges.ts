import { type AddressRange, isWithin, parseAddressRange, parseIpAddress } from '../../core/media-address/ip-address.ts'
import type { Token } from '../../core/token/token.ts'

/** Checks whether a token may be used from an address. Caches the parsed ranges for as long as the token object lives. */
export class SourceRanges {
  readonly #parsed = new WeakMap<readonly string[], readonly AddressRange[]>()

  allow(token: Token, sourceAddress: string): boolean {
    if (!token.sourceRanges) return true
    const address = parseIpAddress(sourceAddress)
    return address !== null && isWithin(address, this.#rangesOf(token.sourceRanges))
  }

  #rangesOf(texts: readonly string[]): readonly AddressRange[] {
    let ranges = this.#parsed.get(texts)
    if (!ranges) {
      // A range that cannot be parsed allows no address: an unrestricted token would be worse.
      ranges = texts.map(parseAddressRange).filter((range) => range !== null)
      this.#parsed.set(texts, ranges)
    }
    return ranges
  }
}
