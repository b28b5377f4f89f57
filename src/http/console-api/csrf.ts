import type { IncomingHttpHeaders } from 'node:http'
import { isWithin, parseAddressRange, parseIpAddress } from '../../core/media-address/ip-address.ts'

const LOOPBACK = ['127.0.0.0/8', '::1'].map(parseAddressRange).filter((range) => range !== null)
const SAFE = new Set(['GET', 'HEAD'])
// The longest name that DNS can carry, with a port.
const MAX_HOST_LENGTH = 253 + ':65535'.length

interface Origins {
  readonly publicUrl: string
  readonly isSecure: boolean
}

/**
 * Whether a request was made by a page of ours. Browsers say so in `Sec-Fetch-Site`, which no page can set. Over plain
 * http they send it only to this machine; for other hosts `Origin` decides, which every browser sends with requests that
 * change something. A request with neither is not from one of our pages.
 */
export function isOfOurPages(method: string, headers: IncomingHttpHeaders, origins: Origins): boolean {
  if (SAFE.has(method)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  if (origin === undefined) return false
  if (origin === new URL(origins.publicUrl).origin) return true
  // Without a configured public address, the page came from the host in the request. Over https it is always configured.
  return !origins.isSecure && host !== undefined && origin === `http://${host.toLowerCase()}`
}

/** Whether browser and service are on one machine, by the host name in the address. */
export function isOnThisMachine({ host }: IncomingHttpHeaders): boolean {
  // The URL parser is quadratic in the length of a host name.
  if (host === undefined || host.length > MAX_HOST_LENGTH || !URL.canParse(`http://${host}`)) return false
  const { hostname } = new URL(`http://${host}`)
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const address = parseIpAddress(hostname.replace(/^\[|\]$/g, ''))
  return address !== null && isWithin(address, LOOPBACK)
}
