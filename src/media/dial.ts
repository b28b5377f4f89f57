import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { CheckedUrl } from '../core/media-address/check-url.ts'
import { durationText } from '../format/durations.ts'
import { type AddressGuard, isSameAddress } from './address-guard.ts'
import { blocked, MediaProblem } from './media-problem.ts'

/** Opens a connection to one of the checked addresses, with TLS if the URL says so. */
export type Dial = (target: CheckedUrl, addresses: readonly string[], signal: AbortSignal) => Promise<Socket>

interface DialRules {
  readonly guard: AddressGuard
  readonly connectMs: number
  /** Certificate authorities in PEM form; undefined means those that come with Node. */
  readonly trustedCertificates: readonly string[] | undefined
  /** Replaced by the test in which a connection reaches another address. */
  readonly openSocket?: typeof connect
}

/** At most this many addresses of one host are tried, because they share the time. */
const MOST_TRIES = 4

/**
 * Connects to the checked address, not to the name: a hostile server would answer a second look-up differently. HTTP
 * libraries also skip a guarded look-up when the host is already an address. So the library never opens a connection: it
 * gets the socket from here.
 */
export function createDial(rules: DialRules): Dial {
  return async (target, addresses, signal) => {
    const socket = await reachAny(target, { addresses: addresses.slice(0, MOST_TRIES), rules }, signal)
    return target.isTls ? secure(socket, { target, rules }, signal) : socket
  }
}

async function reachAny(
  target: CheckedUrl,
  { addresses, rules }: { readonly addresses: readonly string[]; readonly rules: DialRules },
  signal: AbortSignal,
): Promise<Socket> {
  const endsAtMs = performance.now() + rules.connectMs
  const openSocket = rules.openSocket ?? connect
  let lastCode = 'ETIMEDOUT'
  for (const [index, address] of addresses.entries()) {
    const shareMs = (endsAtMs - performance.now()) / (addresses.length - index)
    if (shareMs <= 0) break
    // The look-up has checked it. Checked again, because each guard must hold without those before it.
    if (!rules.guard.admits(address, target.needsAllowedRange)) throw blocked()
    // Never a name: `lookup` would be called for it, and must never be.
    const socket = openSocket({
      host: address,
      port: target.port,
      family: isIP(address),
      autoSelectFamily: false,
      lookup: refuseLookup,
    })
    const code = await arrival(socket, 'connect', { ms: shareMs, signal })
    if (code === null) return checkPeer(socket, { address, target, guard: rules.guard })
    lastCode = code
  }
  throw new MediaProblem('media_connect', connectWords(lastCode, target.port, rules.connectMs))
}

/** The last check before the first byte: is the peer one of the checked addresses? */
function checkPeer(
  socket: Socket,
  peer: { readonly address: string; readonly target: CheckedUrl; readonly guard: AddressGuard },
): Socket {
  const remote = socket.remoteAddress
  if (remote === undefined) {
    socket.destroy()
    throw new MediaProblem('media_connect', connectWords('ECONNRESET', peer.target.port, 0))
  }
  if (isSameAddress(remote, peer.address) && peer.guard.admits(remote, peer.target.needsAllowedRange)) return socket
  socket.destroy()
  throw blocked()
}

async function secure(
  socket: Socket,
  { target, rules }: { readonly target: CheckedUrl; readonly rules: DialRules },
  signal: AbortSignal,
): Promise<Socket> {
  const secured = connectTls({
    socket,
    // The certificate must match the host of the URL. An address is checked as well, but not sent as a server name.
    host: target.host,
    servername: target.isAddress ? '' : target.host,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    // Explicit, because an environment variable can turn the default off.
    rejectUnauthorized: true,
    ...(rules.trustedCertificates && { ca: [...rules.trustedCertificates] }),
  })
  const code = await arrival(secured, 'secureConnect', { ms: rules.connectMs, signal })
  if (code === null) return secured
  socket.destroy()
  if (code === 'ETIMEDOUT') {
    throw new MediaProblem(
      'media_timeout',
      `The media host did not finish the TLS handshake within ${durationText(rules.connectMs)}.`,
    )
  }
  throw new MediaProblem('media_tls', tlsWords(code, target.port))
}

/** Waits until a socket is ready. Returns null, or destroys the socket and returns the code of the error. */
function arrival(
  socket: Socket,
  event: string,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const fail = (code: string) => {
      socket.destroy()
      finish(() => resolve(code))
    }
    const onAbort = () => {
      socket.destroy()
      finish(() => reject(signal.reason as Error))
    }
    const timer = setTimeout(() => fail('ETIMEDOUT'), ms)
    // Stays as long as the socket, because an unhandled late error would end the process.
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'unknown'))
    socket.once('close', () => fail('ECONNRESET'))
    socket.once(event, () => finish(() => resolve(null)))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

function refuseLookup(name: string): never {
  throw new Error(`A connection must be made to a checked address, not to the name ${name}`)
}

function connectWords(code: string, port: number, connectMs: number): string {
  if (code === 'ECONNREFUSED') return `The media host refused the connection on port ${port}.`
  if (code === 'ETIMEDOUT')
    return `The media host took no connection on port ${port} within ${durationText(connectMs)}.`
  return `The media host could not be reached on port ${port} (${code}).`
}

/** core/reasons/media.ts finds the next step by these words. */
const TLS_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate of the media host has expired.',
  CERT_NOT_YET_VALID: 'The certificate of the media host is not valid yet.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the media host is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate of the media host comes from an unknown authority.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The media host does not send its intermediate certificates.',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'The certificate of the media host comes from an unknown authority, or an intermediate one is missing.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the media host is for another name.',
}

function tlsWords(code: string, port: number): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return `The media host does not speak TLS on port ${port}.`
  return TLS_WORDS[code] ?? `The TLS connection to the media host broke (${code}).`
}
