import type { IncomingMessage } from 'node:http'
import { type AddressRange, isWithin, parseIpAddress } from '../../core/media-address/ip-address.ts'

/** The address at the other end of the connection, which may be a proxy. */
export function peerAddress(request: IncomingMessage): string {
  return plainAddress(request.socket.remoteAddress ?? '')
}

/**
 * The address a request comes from. `X-Forwarded-For` counts only as far as trusted proxies wrote it: read from the
 * right, the first address that is no trusted proxy is the caller. The caller may have invented everything left of it.
 */
export function sourceAddress(request: IncomingMessage, trustedProxies: readonly AddressRange[]): string {
  const peer = peerAddress(request)
  if (trustedProxies.length === 0 || !isTrusted(peer, trustedProxies)) return peer
  const forwarded = request.headers['x-forwarded-for']
  if (typeof forwarded !== 'string') return peer

  let source = peer
  for (const entry of forwarded.split(',').reverse()) {
    const address = withoutPort(entry.trim())
    // Not an address: the proxy that wrote it is the nearest address that we know.
    if (!parseIpAddress(address)) return source
    source = plainAddress(address)
    if (!isTrusted(source, trustedProxies)) return source
  }
  return source
}

export function isTrusted(text: string, trustedProxies: readonly AddressRange[]): boolean {
  const address = parseIpAddress(text)
  return address !== null && isWithin(address, trustedProxies)
}

/** A socket that listens for both shows an IPv4 address as `::ffff:192.0.2.1`. Ranges are written for IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

/** An IPv6 host can choose among 2^64 addresses, so its whole /64 network counts as one. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail = ''] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}

/** Some proxies write the port, too: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)
  if (bracketed) return bracketed[1] ?? ''
  return entry.includes('.') ? entry.replace(/:\d+$/, '') : entry
}
