import type { MediaFailure, MediaFailureCode } from '../core/ports/media.ts'
import { counted } from '../format/counted.ts'

/**
 * Whether a later retry may succeed. A retry costs little and a failed message costs a person's time, so the answer is yes
 * in doubt.
 */
const MAY_PASS: Record<MediaFailureCode, boolean> = {
  // A name that does not exist may be one that was made a minute ago and is not known everywhere yet.
  media_dns: true,
  media_connect: true,
  // Certificates run out and are renewed, and one of several front ends may serve the wrong one.
  media_tls: true,
  media_timeout: true,
  // Decided by the status: see media-status.ts.
  media_status: false,
  media_too_big: false,
  media_wrong_type: false,
  // The name may point elsewhere in a minute, but that is what a rebinding attack waits for.
  media_blocked: false,
  media_truncated: true,
  // Depends on the setup of the host and not on time.
  media_protocol: false,
}

/**
 * Thrown inside this folder for errors of hosts and networks; `fetchMedia` turns it into the failure it carries. Its words
 * are for the account's log: they state facts, but never an address that a name resolved to.
 */
export class MediaProblem extends Error {
  readonly failure: MediaFailure

  constructor(
    code: MediaFailureCode,
    words: string,
    more: { mayPass?: boolean; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(words, { cause: more.cause })
    this.name = 'MediaProblem'
    this.failure = {
      kind: 'failed',
      code,
      mayPass: more.mayPass ?? MAY_PASS[code],
      words,
      retryAfterMs: more.retryAfterMs ?? null,
    }
  }
}

/** One sentence for every refused address, so that it reveals nothing about our network. */
export function blocked(): MediaProblem {
  return new MediaProblem('media_blocked', 'The URL leads to an address that media is not fetched from.')
}

/** The same problem with the addition that it occurred after redirects and not at the URL of the message. */
export function behindRedirects(problem: MediaProblem, redirects: number): MediaProblem {
  const { code, words, mayPass, retryAfterMs } = problem.failure
  const after = `Behind ${counted(redirects, 'redirect')}: ${words}`
  return new MediaProblem(code, after, { mayPass, retryAfterMs, cause: problem })
}

/** Text of a foreign host, cut and cleaned so that it can stand in a log line. */
export function quote(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?')
  return `"${clean.length > 60 ? `${clean.slice(0, 57)}...` : clean}"`
}
