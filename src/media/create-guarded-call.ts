import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { checkMediaUrl, type OperatorRanges } from '../core/media-address/check-url.ts'
import { type AddressRange, parseAddressRange } from '../core/media-address/ip-address.ts'
import type { TryCode } from '../core/notifications/delivery-try-codes.ts'
import type { CallEnd, CallWanted, GuardedCall } from '../core/ports/guarded-call.ts'
import type { MediaFailureCode } from '../core/ports/media.ts'
import { durationText } from '../format/durations.ts'
import { createAddressGuard } from './address-guard.ts'
import { createDial } from './dial.ts'
import type { FollowRules } from './follow-url.ts'
import { locateHost } from './locate-host.ts'
import { MediaProblem } from './media-problem.ts'
import { type OpenResponse, openResponse, type Request } from './open-response.ts'
import { createNameResolver } from './resolve-name.ts'

interface GuardedCallOptions {
  /** Origins such as `http://127.0.0.1:7900` that the operator opened: only they may be without TLS, or not public. */
  readonly origins?: readonly string[]
  /** Opens this machine, for a simulator: its ports are not known before. */
  readonly isLoopbackOpened?: boolean
  /** Ranges that the operator closed, public ones too. They win over the origins. */
  readonly refused?: readonly AddressRange[]
  /** As for media. */
  readonly dnsServers?: readonly string[] | null
  readonly trustedCertificates?: readonly string[]
}

const DNS_MS = 5_000
const CONNECT_MS = 5_000
// The headers have the time of the whole call: an hour is longer than any.
const LONGEST_MS = 3_600_000
/** One sentence for every refused address, so that it reveals nothing about our network. */
export const BLOCKED = 'The URL leads to an address that is not called.'
const EVERYWHERE = ['0.0.0.0/0', '::/0'].map((text) => parseAddressRange(text)).filter((range) => range !== null)

/** Calls https URLs on the internet, and the origins that the operator opened. */
export function createGuardedCall(options: GuardedCallOptions): GuardedCall {
  const { refused = [], origins = [], isLoopbackOpened = false } = options
  const onInternet = rulesOf({ allowed: [], refused }, options)
  const opened = rulesOf({ allowed: EVERYWHERE, refused, anyPort: true }, options)
  return {
    async call(wanted, { signal, mayBegin = () => true }) {
      const url = URL.parse(wanted.url)
      const isOpened = url !== null && (origins.includes(url.origin) || (isLoopbackOpened && isLoopback(url)))
      if (!isOpened && url?.protocol !== 'https:') return { kind: 'not-sent', code: 'blocked', words: BLOCKED }
      const { timeoutMs, mostAnswerBytes } = wanted
      const rules = isOpened ? opened : onInternet
      return exchange(
        wanted,
        { rules, timeoutMs, read: (response) => readWhole(response, mostAnswerBytes) },
        { signal, mayBegin },
      )
    },
  }
}

function isLoopback({ hostname }: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
}

function rulesOf(ranges: OperatorRanges, { dnsServers, trustedCertificates }: GuardedCallOptions): FollowRules {
  const guard = createAddressGuard(ranges)
  return {
    ranges,
    guard,
    resolveName: createNameResolver({ servers: dnsServers ?? null, timeoutMs: DNS_MS }),
    dial: createDial({ guard, connectMs: CONNECT_MS, trustedCertificates }),
    headersMs: LONGEST_MS,
    userAgent: 'Nuncio (bridge)',
  }
}

interface ExchangeRules {
  readonly rules: FollowRules
  /** Until the answer is read. */
  readonly timeoutMs: number
  /** Reads what is wanted of the answer. What it throws ends the exchange. */
  readonly read: (response: OpenResponse) => Promise<Uint8Array>
}

/**
 * One request and its answer. As with media, every early end aborts one `AbortController` with its reason, and each stage
 * watches its signal. Redirects are not followed, because they would take what is sent to an address that the account did
 * not name.
 */
export async function exchange(
  { method, url, headers, body }: Pick<CallWanted, 'method' | 'url' | 'headers' | 'body'>,
  { rules, timeoutMs, read }: ExchangeRules,
  { signal: caller, mayBegin }: { readonly signal: AbortSignal; readonly mayBegin: () => boolean },
): Promise<CallEnd> {
  if (caller.aborted) return { kind: 'not-sent', code: 'interrupted', words: 'The call was stopped before it began.' }
  const progress = { hasBegun: false, wasRefused: false }
  const ending = new AbortController()
  const passOn = () => ending.abort(caller.reason)
  caller.addEventListener('abort', passOn, { once: true })
  const timer = setTimeout(() => ending.abort(tookTooLong(timeoutMs)), timeoutMs)
  const begin = () => {
    progress.wasRefused = !mayBegin()
    progress.hasBegun = !progress.wasRefused
    return progress.hasBegun
  }
  try {
    const target = checkMediaUrl(url, rules.ranges)
    if (!target.ok) return { kind: 'not-sent', code: 'blocked', words: target.detail }
    const addresses = await locateHost(target, rules, ending.signal)
    const request = { method, ...contentOf(headers, body), mayBegin: begin }
    const response = await openResponse({ target, addresses, request }, rules, ending)
    try {
      const { status } = response
      return { kind: 'answered', status, header: (name) => response.header(name), body: await read(response) }
    } finally {
      response.close()
    }
  } catch (thrown) {
    const kind = progress.hasBegun ? 'unknown' : 'not-sent'
    if (caller.aborted || progress.wasRefused) return { kind, code: 'interrupted', words: 'The call was stopped.' }
    const cause: unknown = ending.signal.aborted ? ending.signal.reason : thrown
    if (cause instanceof MediaProblem) return { kind, ...explain(cause) }
    throw cause
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', passOn)
  }
}

function contentOf(headers: CallWanted['headers'], body: CallWanted['body']): Pick<Request, 'headers' | 'body'> {
  if (body === null || typeof body === 'string') return { headers, body }
  // Opened only when the connection is there.
  const open = () => ('open' in body ? Readable.from(body.open()) : createReadStream(body.path))
  return { headers: { ...headers, 'content-length': String(body.sizeBytes) }, body: open }
}

/** The whole body, if it is not longer than it may be. */
function readWhole(response: OpenResponse, mostBytes: number): Promise<Uint8Array> {
  const { body, connection } = response
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    body.on('data', (piece: Buffer) => {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > mostBytes)
        reject(new MediaProblem('media_protocol', `The media host answered with more than ${mostBytes} bytes.`))
    })
    body.once('end', () => resolve(Buffer.concat(pieces)))
    body.once('error', (error) => reject(response.explain(error)))
    // After `end` this changes nothing.
    body.once('close', () => reject(new MediaProblem('media_truncated', 'The media host broke off its answer.')))
    connection.release()
  })
}

const CODES: Readonly<Record<MediaFailureCode, TryCode>> = {
  media_dns: 'name_unknown',
  media_connect: 'unreachable',
  media_tls: 'tls',
  media_timeout: 'timeout',
  media_blocked: 'blocked',
  media_truncated: 'unreachable',
  media_protocol: 'protocol',
  // A call has none of these problems: they concern files and statuses, which other code checks.
  media_status: 'protocol',
  media_too_big: 'protocol',
  media_wrong_type: 'protocol',
}

function explain({ failure }: MediaProblem): { readonly code: TryCode; readonly words: string } {
  const code = CODES[failure.code]
  return { code, words: code === 'blocked' ? BLOCKED : failure.words }
}

function tookTooLong(totalMs: number): MediaProblem {
  return new MediaProblem('media_timeout', `The media host did not answer within ${durationText(totalMs)}.`)
}
