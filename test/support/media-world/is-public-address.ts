import { parseIpAddress } from '../../../src/core/media-address/ip-address.ts'
import { isPublic } from '../../../src/core/media-address/public-address.ts'

/** Whether this address can be reached from the internet. False for everything that is not an address. */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text)
  return address !== null && isPublic(address)
}
