import { parseIpAddress } from '../../../src/core/media-address/ip-address.ts'
import { isPublic } from '../../../src/core/media-address/public-address.ts'

/** Whether this address can be reached from the internet. False for texts that are no address. */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text)
  return address !== null && isPublic(address)
}
