import { networkInterfaces } from 'node:os'
import type { OperatorRanges } from '../core/media-address/check-url.ts'
import { isWithin, parseIpAddress } from '../core/media-address/ip-address.ts'
import { isPublic } from '../core/media-address/public-address.ts'

export interface AddressGuard {
  /**
   * Whether a connection to this address may be made. With `needsAllowedRange` only the operator's allowed ranges will
   * do: the name or port was excused for their sake.
   */
  admits(address: string, needsAllowedRange: boolean): boolean
  /** Whether the operator opened this private address, and has not closed it. */
  allows(address: string): boolean
}

/**
 * Refuses what is not public, and this machine's own addresses even when they are: a service bound to all of them, but
 * shielded from the internet by a firewall in front, would otherwise be reachable through us. Whoever serves media
 * from the same machine names its address in the allowed ranges. What the operator closed is refused whatever else is said of it.
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

/** Read anew each time: addresses come and go while the process runs. */
function listOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((entries) => entries?.map(({ address }) => address) ?? [])
}
