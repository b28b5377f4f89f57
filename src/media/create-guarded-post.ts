import type { AddressRange } from '../core/media-address/ip-address.ts'
import type { GuardedPost, PostEnd, PostWanted } from '../core/ports/guarded-post.ts'
import { createAddressGuard } from './address-guard.ts'
import { BLOCKED, exchange } from './create-guarded-call.ts'
import { createDial } from './dial.ts'
import type { FollowRules } from './follow-url.ts'
import { parseRetryAfter } from './media-status.ts'
import type { OpenResponse } from './open-response.ts'
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
const NOT_POSTED = 'The URL leads to an address that webhooks are not posted to.'

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

/** One try. */
async function post(
  { url, headers, body }: PostWanted,
  { rules, timing }: { readonly rules: FollowRules; readonly timing: PostTiming },
  signal: AbortSignal,
): Promise<PostEnd> {
  const end = await exchange(
    { method: 'POST', url, headers, body },
    { rules, timeoutMs: timing.totalMs, read: (response) => readExcerpt(response, timing.excerptMs) },
    { signal, mayBegin: () => true },
  )
  if (end.kind === 'answered')
    return {
      kind: 'answered',
      status: end.status,
      retryAfterMs: parseRetryAfter(end.header('retry-after'), end.header('date')),
      excerpt: textOf(end.body),
    }
  const { code, words } = end
  // Only the caller interrupts a try, and knows why.
  if (code === 'interrupted') throw signal.reason
  return { kind: 'failed', code, words: words === BLOCKED ? NOT_POSTED : words.replaceAll('media host', 'receiver') }
}

/** The part of the body that came in time. The body may never end. It decides nothing, so no error of it counts. */
function readExcerpt({ body, connection }: OpenResponse, withinMs: number): Promise<Uint8Array> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = []
    let bytes = 0
    const finish = () => {
      clearTimeout(timer)
      body.removeAllListeners('data')
      connection.hold()
      resolve(Buffer.concat(pieces).subarray(0, EXCERPT_BYTES))
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

function textOf(excerpt: Uint8Array): string {
  return Buffer.from(excerpt)
    .toString('utf8')
    .replace(/[^\P{C}\n\t]/gu, ' ')
    .replaceAll('\uFFFD', '')
    .trim()
}
