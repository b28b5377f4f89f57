import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { CheckedUrl } from '../core/media-address/check-url.ts'
import { type AddressGuard, isSameAddress } from './address-guard.ts'
import { blocked, MediaProblem } from './media-problem.ts'

/** Opens a connection to one of the judged addresses, with TLS where the URL says so. */
export type Dial = (target: CheckedUrl, addresses: readonly string[], signal: AbortSignal) => Promise<Socket>

interface DialRules {
  readonly guard: AddressGuard
  readonly connectMs: number
  /** Certificate authorities in PEM form; undefined means those that come with Node. */
  readonly trustedCertificates: readonly string[] | undefined
  /** Replaced by the test that shows what happens when a connection ends up elsewhere. */
  readonly openSocket?: typeof connect
}

/** More than this many addresses of one host are not tried: each gets a share of the time, and the shares must do. */
const MOST_TRIES = 4

/**
 * Connects to the address we judged, not to the name. A second look-up could answer differently, and a hostile server
 * would make sure that it does. HTTP libraries also skip a guarded look-up when the host is an address already, so the
 * library is never let near a connection: it gets the socket from here.
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
    // Asked again right before the connection, though the addresses come judged: an address that stands in the URL
    // itself has never been through a look-up.
    if (!rules.guard.admits(address, target.needsAllowedRange)) throw blocked()
    // No names: `lookup` would be called for one, and must never be.
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

/** The last look before the first byte: are we really connected to whom we judged? */
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
    // The certificate must be that of the name in the URL. An address is not sent as a server name, but checked.
    host: target.host,
    servername: target.isAddress ? '' : target.host,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    // Said aloud, because an environment variable can turn the default off.
    rejectUnauthorized: true,
    ...(rules.trustedCertificates && { ca: [...rules.trustedCertificates] }),
  })
  const code = await arrival(secured, 'secureConnect', { ms: rules.connectMs, signal })
  if (code === null) return secured
  socket.destroy()
  if (code === 'ETIMEDOUT') {
    throw new MediaProblem(
      'media_timeout',
      `The media host did not finish the TLS handshake within ${rules.connectMs} ms.`,
    )
  }
  throw new MediaProblem('media_tls', `The TLS handshake with the media host failed: ${tlsWords(code)}.`)
}

/** Waits for a socket to be ready: null when it is, else the code of what happened, with the socket destroyed. */
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
    // Stays for the life of the socket, so that a late error never goes unheard and ends the process.
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'unknown'))
    socket.once('close', () => fail('ECONNRESET'))
    socket.once(event, () => finish(() => resolve(null)))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

function refuseLookup(name: string): never {
  throw new Error(`A connection must be made to a judged address, not to the name ${name}`)
}

function connectWords(code: string, port: number, connectMs: number): string {
  if (code === 'ECONNREFUSED') return `The media host refused the connection on port ${port}.`
  if (code === 'ETIMEDOUT') return `The media host took no connection on port ${port} within ${connectMs} ms.`
  return `The media host could not be reached on port ${port} (${code}).`
}

const TLS_WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain ends in an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate chain is incomplete or ends in an unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ECONNRESET: 'it closed the connection',
}

function tlsWords(code: string): string {
  return TLS_WORDS[code] ?? code
}
