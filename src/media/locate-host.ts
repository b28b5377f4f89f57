import type { CheckedUrl } from '../core/media-address/check-url.ts'
import type { AddressGuard } from './address-guard.ts'
import { blocked } from './media-problem.ts'
import type { ResolveName } from './resolve-name.ts'

/** Finds the addresses of a host and checks every one of them. Connections may only be made to addresses that it returns. */
export async function locateHost(
  target: CheckedUrl,
  { guard, resolveName }: { readonly guard: AddressGuard; readonly resolveName: ResolveName },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isLocalhost(target)) return locateLocalhost(guard)
  const addresses = target.isAddress ? [target.host] : await resolveName(target.host, signal)
  // One bad address among many is enough to refuse, because a connection could pick any of them, and no honest name has
  // one.
  if (!addresses.every((address) => guard.admits(address, target.needsAllowedRange))) {
    throw blocked()
  }
  return inTurns(addresses)
}

function isLocalhost({ host, isAddress }: CheckedUrl): boolean {
  return !isAddress && (host === 'localhost' || host.endsWith('.localhost'))
}

/** `localhost` is this machine by definition, so no server is asked: its answer could not be trusted. */
function locateLocalhost(guard: AddressGuard): readonly string[] {
  const addresses = ['127.0.0.1', '::1'].filter((address) => guard.allows(address))
  if (addresses.length === 0) throw blocked()
  return addresses
}

/** Alternates IPv4 and IPv6, so that a machine without one of them reaches the other at the second try. */
function inTurns(addresses: readonly string[]): readonly string[] {
  const four = addresses.filter((address) => !address.includes(':'))
  const six = addresses.filter((address) => address.includes(':'))
  const rounds = Math.max(four.length, six.length)
  return Array.from({ length: rounds }, (_, index) => [four[index], six[index]])
    .flat()
    .filter((address) => address !== undefined)
}
