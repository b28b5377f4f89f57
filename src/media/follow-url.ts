import { createReadStream } from 'node:fs'
import {
  type CheckedUrl,
  checkMediaUrl,
  MEDIA_PORTS,
  type OperatorRanges,
  parseWebUrl,
  type RefusedUrl,
} from '../core/media-address/check-url.ts'
import type { AddressGuard } from './address-guard.ts'
import { locateHost } from './locate-host.ts'
import { behindRedirects, MediaProblem } from './media-problem.ts'
import { checkStatus } from './media-status.ts'
import { type OpenResponse, openResponse, type RequestRules } from './open-response.ts'
import type { ResolveName } from './resolve-name.ts'

export interface FollowRules extends RequestRules {
  readonly ranges: OperatorRanges
  /** Paths of our own sample files by their address, where media is fetched. */
  readonly samples?: ReadonlyMap<string, string>
  readonly guard: AddressGuard
  readonly resolveName: ResolveName
  /** Given each host before it is asked. */
  readonly onVisit?: (host: string) => void
}

export const MOST_REDIRECTS = 5
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** Requests a URL and follows redirects, each checked like a URL of its own. Returns the response with the file. */
export async function followUrl(url: string, rules: FollowRules, ending: AbortController): Promise<OpenResponse> {
  // No redirect leads to one: only what a message names is looked up here.
  const sample = rules.samples?.get(url)
  if (sample !== undefined) return openSample(sample)
  let target = checkRequested(url, rules)
  for (let redirects = 0; ; redirects += 1) {
    const step = await visit(target, rules, ending).catch((error: unknown) => {
      throw redirects > 0 && error instanceof MediaProblem ? behindRedirects(error, redirects) : error
    })
    if ('response' in step) return step.response
    if (redirects === MOST_REDIRECTS) {
      throw new MediaProblem('media_protocol', `${target.host} redirected more than ${MOST_REDIRECTS} times.`)
    }
    target = step.redirectedTo
  }
}

type Step = { readonly response: OpenResponse } | { readonly redirectedTo: CheckedUrl }

async function visit(target: CheckedUrl, rules: FollowRules, ending: AbortController): Promise<Step> {
  rules.onVisit?.(target.host)
  const addresses = await locateHost(target, rules, ending.signal)
  const response = await openResponse({ target, addresses }, rules, ending)
  let isWanted = false
  try {
    if (REDIRECTS.includes(response.status)) return { redirectedTo: checkRedirect(response, target, rules) }
    const problem = checkStatus({
      host: target.host,
      status: response.status,
      retryAfter: response.header('retry-after'),
      date: response.header('date'),
    })
    if (problem) throw problem
    isWanted = true
    return { response }
  } finally {
    if (!isWanted) response.close()
  }
}

function checkRedirect(response: OpenResponse, from: CheckedUrl, rules: FollowRules): CheckedUrl {
  const location = response.header('location')
  if (location === null) {
    throw new MediaProblem('media_protocol', `${from.host} answered ${response.status} and named no new address.`)
  }
  // Parsers disagree about these, as in a URL. A space is common in names of files and harmless.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f\\]/.test(location))
    throw refusedRedirect(from, 'to a URL with characters that are not allowed.')
  // Header bytes come as Latin-1, one character each; hosts write UTF-8.
  const text = Buffer.from(location, 'latin1').toString('utf8')
  const resolved = parseWebUrl(text, from.url)
  if (!resolved) throw new MediaProblem('media_protocol', `${from.host} redirects to something that is no URL.`)
  // An attacker on the plain connection could replace the file, although the message asked for TLS.
  if (from.isTls && resolved.protocol !== 'https:')
    throw refusedRedirect(from, 'from https to http, which is not followed.')
  // The query as it came, because it may hold a signature.
  const query = resolved.search && (/\?[^#]*/.exec(text)?.[0] ?? '').trimEnd().replaceAll(' ', '%20')
  const authority = resolved.username || resolved.password ? `${resolved.username}:${resolved.password}@` : ''
  const checked = checkMediaUrl(
    `${resolved.protocol}//${authority}${resolved.host}${resolved.pathname}${query}`,
    rules.ranges,
  )
  if (checked.ok) return checked
  throw refusedRedirect(from, redirectWords(checked, resolved))
}

/** May repeat the name or address in the redirect, which the host has sent, but no address that a name resolved to. */
function redirectWords({ code, isClosed }: RefusedUrl, to: URL): string {
  if (isClosed) return 'to an address that Nuncio may not connect to.'
  if (code === 'url_not_public') return `to ${to.host}, which is not a public address.`
  if (code === 'url_port_refused') return `to port ${to.port}; only ${MEDIA_PORTS.join(', ')} are used.`
  return 'to a URL that is not allowed.'
}

function checkRequested(url: string, rules: FollowRules): CheckedUrl {
  const checked = checkMediaUrl(url, rules.ranges)
  if (checked.ok) return checked
  throw new MediaProblem('media_blocked', checked.detail)
}

function refusedRedirect(from: CheckedUrl, where: string): MediaProblem {
  return new MediaProblem('media_blocked', `${from.host} redirects ${where}`)
}

/** One of our own sample files, as if its host had answered. Nothing is connected to. */
function openSample(path: string): OpenResponse {
  const body = createReadStream(path)
  // It may fail before the caller listens, and an unhandled error would end the process.
  body.on('error', () => {})
  return {
    host: 'Nuncio',
    status: 200,
    header: () => null,
    body,
    connection: { hold: () => {}, release: () => {}, receivedBytes: 0 },
    explain: () => new MediaProblem('media_connect', 'The sample file is missing in this installation of Nuncio.'),
    close: () => void body.destroy(),
  }
}
