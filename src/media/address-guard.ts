import { networkInterfaces } from 'node:os'
import type { OperatorRanges } from '../core/media-address/check-url.ts'
import { isWithin, parseIpAddress } from '../core/media-address/ip-address.ts'
import { isPublic } from '../core/media-address/public-address.ts'

export interface AddressGuard {
  /**
   * Whether a connection to this address may be made. With `needsAllowedRange` the address must lie in a range that the
   * operator allowed, because its name or port is valid only for those.
   */
  admits(address: string, needsAllowedRange: boolean): boolean
  /** Whether the operator opened this private address, and has not closed it. */
  allows(address: string): boolean
}

/**
 * Refuses private addresses, and public addresses of this machine: a service that listens on all of them behind a
 * firewall would otherwise be reachable through us. An operator who serves media from the same machine adds its address to the
 * allowed ranges. Addresses that the operator closed are always refused.
 */
export function createAddressGuard(
  { allowed, refused }: OperatorRanges,
  ownAddresses = listOwnAddresses,
): AddressGuard {
  const allows = (text: string) => {
    const address = parseIpAddress(text)
    return address !== null && isWithin(address, allowed) && !isWithin(address, refused)
  }
  return {
    allows,
    admits(text, needsAllowedRange) {
      if (allows(text)) return true
      const address = parseIpAddress(text)
      if (needsAllowedRange || address === null || isWithin(address, refused)) return false
      return isPublic(address) && !isOwn(text, ownAddresses())
    },
  }
}

/** True when both texts spell the same address. */
export function isSameAddress(one: string, other: string): boolean {
  const [left, right] = [parseIpAddress(one), parseIpAddress(other)]
  return left !== null && right !== null && left.words.join() === right.words.join()
}

function isOwn(text: string, own: readonly string[]): boolean {
  return own.some((address) => isSameAddress(address, text))
}

/** Read on each call, because addresses change while the process runs. */
function listOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? [])
}
