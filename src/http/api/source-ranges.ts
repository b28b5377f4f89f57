import { type AddressRange, isWithin, parseAddressRange, parseIpAddress } from '../../core/media-address/ip-address.ts'
import type { Token } from '../../core/token/token.ts'

/** Judges whether a token may be used from an address. Remembers the ranges it has read, as long as the token lives. */
export class SourceRanges {
  readonly #read = new WeakMap<readonly string[], readonly AddressRange[]>()

  allow(token: Token, sourceAddress: string): boolean {
    if (!token.sourceRanges) return true
    const address = parseIpAddress(sourceAddress)
    return address !== null && isWithin(address, this.#rangesOf(token.sourceRanges))
  }

  #rangesOf(texts: readonly string[]): readonly AddressRange[] {
    let ranges = this.#read.get(texts)
    if (!ranges) {
      // A range that cannot be read allows nobody: leaving the token unbound would be worse.
      ranges = texts.map(parseAddressRange).filter((range) => range !== null)
      this.#read.set(texts, ranges)
    }
    return ranges
  }
}
