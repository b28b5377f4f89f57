import { checkMediaUrl } from '../core/media-address/check-url.ts'
import type { AddressRange } from '../core/media-address/ip-address.ts'
import type { TryCode } from '../core/notifications/delivery-try-codes.ts'
import type { GuardedPost, PostEnd, PostWanted } from '../core/ports/guarded-post.ts'
import type { MediaFailureCode } from '../core/ports/media.ts'
import { createAddressGuard } from './address-guard.ts'
import { createDial } from './dial.ts'
import type { FollowRules } from './follow-url.ts'
import { locateHost } from './locate-host.ts'
import { MediaProblem } from './media-problem.ts'
import { parseRetryAfter } from './media-status.ts'
import { type OpenResponse, openResponse } from './open-response.ts'
import { createNameResolver } from './resolve-name.ts'

export interface PostTiming {
  readonly dnsMs: number
  readonly connectMs: number
  /** From the start to the end of the response headers. */
  readonly totalMs: number
  /** Time limit for the part of the response after its headers. */
  readonly excerptMs: number
}

const DEFAULT_TIMING: PostTiming = { dnsMs: 5_000, connectMs: 5_000, totalMs: 15_000, excerptMs: 1_000 }
// Enough to include the sentence of an error page.
const EXCERPT_BYTES = 1_024

interface GuardedPostOptions {
  /** Private ranges that the operator opened for webhooks. */
  readonly allowed?: readonly AddressRange[]
  /** Ranges that the operator closed, public ones too. */
  readonly refused?: readonly AddressRange[]
  /** As for media. */
  readonly dnsServers?: readonly string[] | null
  readonly timing?: Partial<PostTiming>
  readonly trustedCertificates?: readonly string[]
}

/** `replaced` overrides single parts: with it tests prove that each guard is needed. */
export function createGuardedPost(options: GuardedPostOptions, replaced: Partial<FollowRules> = {}): GuardedPost {
  const timing = { ...DEFAULT_TIMING, ...options.timing }
  const ranges = { allowed: options.allowed ?? [], refused: options.refused ?? [] }
  const guard = createAddressGuard(ranges)
  const rules: FollowRules = {
    ranges,
    guard,
    resolveName: createNameResolver({ servers: options.dnsServers ?? null, timeoutMs: timing.dnsMs }),
    dial: createDial({ guard, connectMs: timing.connectMs, trustedCertificates: options.trustedCertificates }),
    headersMs: timing.totalMs,
    userAgent: 'Nuncio (webhooks)',
    ...replaced,
  }
  return { post: (wanted, signal) => post(wanted, { rules, timing }, signal) }
}

/**
 * One try. As with media, every early end aborts one `AbortController` with its reason, and each stage watches its signal.
 * Redirects are not followed, because a redirect would send signed notices to an address that the account did not name.
 */
async function post(
  wanted: PostWanted,
  { rules, timing }: { readonly rules: FollowRules; readonly timing: PostTiming },
  caller: AbortSignal,
): Promise<PostEnd> {
  caller.throwIfAborted()
  const ending = new AbortController()
  const passOn = () => ending.abort(caller.reason)
  caller.addEventListener('abort', passOn, { once: true })
  const timer = setTimeout(() => ending.abort(tookTooLong(timing.totalMs)), timing.totalMs)
  try {
    const target = checkMediaUrl(wanted.url, rules.ranges)
    if (!target.ok) return { kind: 'failed', code: 'blocked', words: target.detail }
    const addresses = await locateHost(target, rules, ending.signal)
    const { headers, body } = wanted
    const response = await openResponse({ target, addresses, posted: { headers, body } }, rules, ending)
    try {
      return {
        kind: 'answered',
        status: response.status,
        retryAfterMs: parseRetryAfter(response.header('retry-after'), response.header('date')),
        excerpt: await readExcerpt(response, timing.excerptMs),
      }
    } finally {
      response.close()
    }
  } catch (thrown) {
    const cause: unknown = ending.signal.aborted ? ending.signal.reason : thrown
    if (cause instanceof MediaProblem) return explain(cause)
    throw cause
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', passOn)
  }
}

/** The part of the body that came in time. The body may never end. It decides nothing, so no error of it counts. */
function readExcerpt({ body, connection }: OpenResponse, withinMs: number): Promise<string> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let bytes = 0
    const finish = () => {
      clearTimeout(timer)
      body.removeAllListeners('data')
      connection.hold()
      const text = Buffer.concat(pieces).subarray(0, EXCERPT_BYTES).toString('utf8')
      resolve(
        text
          .replace(/[^\P{C}\n\t]/gu, ' ')
          .replaceAll('\uFFFD', '')
          .trim(),
      )
    }
    const timer = setTimeout(finish, withinMs)
    body.on('data', (piece: Buffer) => {
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= EXCERPT_BYTES) finish()
    })
    body.once('end', finish)
    body.once('close', finish)
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
  // A post has none of these problems: they concern files and statuses, which other code checks.
  media_status: 'protocol',
  media_too_big: 'protocol',
  media_wrong_type: 'protocol',
}

function explain({ failure }: MediaProblem): PostEnd {
  const code = CODES[failure.code]
  // One sentence for every refused address, so that it reveals nothing about our network.
  const words =
    code === 'blocked'
      ? 'The URL leads to an address that webhooks are not posted to.'
      : failure.words.replaceAll('media host', 'receiver')
  return { kind: 'failed', code, words }
}

function tookTooLong(totalMs: number): MediaProblem {
  return new MediaProblem('media_timeout', `The media host did not answer within ${totalMs} ms.`)
}
