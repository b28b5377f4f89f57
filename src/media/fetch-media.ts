import type { MediaType } from '../core/message/message.ts'
import type { FetchedMedia, MediaFailure, MediaWanted } from '../core/ports/media.ts'
import { durationText } from '../format/durations.ts'
import { totalTimeMs } from './fetch-timing.ts'
import { type FollowRules, followUrl } from './follow-url.ts'
import { MediaProblem } from './media-problem.ts'
import { type ReceiveRules, receiveFile } from './receive-file.ts'

export interface MediaParts extends FollowRules, Omit<ReceiveRules, 'capBytes'> {
  readonly maxBytes: Readonly<Record<MediaType, number>>
}

/**
 * Fetches one file, from the URL to the spool.
 *
 *   check URL ▶ look up ▶ check addresses ▶ connect ▶ check peer ▶ ask ▶ check headers ▶ receive ▶ keep
 *       ▲                                                            │
 *       └───────────────────── redirect (at most 5) ─────────────────┘
 *
 * Every early end (by the caller, the total time, a stage's time, a slow host) aborts one `AbortController` with its
 * reason. All stages watch that one signal.
 */
export async function fetchMedia(
  wanted: MediaWanted,
  parts: MediaParts,
  caller: AbortSignal,
): Promise<FetchedMedia | MediaFailure> {
  caller.throwIfAborted()
  const startedAtMs = performance.now()
  const capBytes = parts.maxBytes[wanted.type]
  const totalMs = totalTimeMs(capBytes, parts.timing)
  const ending = new AbortController()
  const passOn = () => ending.abort(caller.reason)
  caller.addEventListener('abort', passOn, { once: true })
  const timer = setTimeout(() => ending.abort(tookTooLong(totalMs)), totalMs)
  let host = 'the media host'
  const onVisit = (visited: string) => {
    host = visited
  }
  try {
    const response = await followUrl(wanted.url, { ...parts, onVisit }, ending)
    try {
      const file = await receiveFile(
        { response, wanted },
        { spool: parts.spool, timing: parts.timing, capBytes },
        ending,
      )
      return { kind: 'fetched', file, tookMs: Math.round(performance.now() - startedAtMs) }
    } finally {
      response.close()
    }
  } catch (thrown) {
    // After an abort, later errors are its consequences.
    const cause: unknown = ending.signal.aborted ? ending.signal.reason : thrown
    if (cause instanceof MediaProblem) return withHost(cause.failure, host)
    throw cause
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', passOn)
  }
}

/** The stages serve files, webhooks and adapters, and name no host. */
function withHost(failure: MediaFailure, host: string): MediaFailure {
  return { ...failure, words: failure.words.replaceAll(/\b[Tt]he media host\b/g, host) }
}

function tookTooLong(totalMs: number): MediaProblem {
  return new MediaProblem('media_timeout', `The whole file did not arrive within ${durationText(totalMs)}.`)
}
