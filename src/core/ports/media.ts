import type { WorkerId } from '../ids.ts'
import type { MediaFile, MediaType } from '../message/message.ts'

/** Why an attachment could not be fetched. These are reason codes of messages too (core/reasons.ts). */
export const MEDIA_FAILURES = [
  'media_dns',
  'media_connect',
  'media_tls',
  'media_timeout',
  'media_status',
  'media_too_big',
  'media_wrong_type',
  'media_blocked',
  'media_truncated',
  'media_protocol',
] as const
export type MediaFailureCode = (typeof MEDIA_FAILURES)[number]

/** Why a file was not fetched. */
export interface MediaFailure {
  readonly kind: 'failed'
  readonly code: MediaFailureCode
  /** False: trying again cannot help (blocked, too big, wrong type, most 4xx). */
  readonly mayPass: boolean
  /** What exactly was seen, for the account's own log: bytes, milliseconds, status. Never an address inside our network. */
  readonly words: string
  /** From `Retry-After` of a 429 or 503, in milliseconds; null when the host named none. */
  readonly retryAfterMs: number | null
}

/** A file that lies in the spool now. */
export interface FetchedMedia {
  readonly kind: 'fetched'
  readonly file: MediaFile
  /** How long the whole fetch took. */
  readonly tookMs: number
}

/** The file that a message asks for. `type` decides which contents and what size are allowed. */
export interface MediaWanted {
  readonly url: string
  readonly type: MediaType
  /** Name of the spool file to make, unique among the fetches of this worker: letters, digits and dashes only. */
  readonly spoolName: string
}

/** Workers and files whose spool files must stay. */
export interface KnownFiles {
  /** Other workers with a valid lease. Read before `wanted`, or files made in between would seem left over. */
  readonly living: readonly WorkerId[]
  /** Paths to keep. */
  readonly wanted: ReadonlySet<string>
}

/** What a sweep of the spool found. */
export interface Swept {
  readonly removed: number
  /** Those of `wanted` that are not there. */
  readonly missing: readonly string[]
}

/**
 * Fetches addresses given by callers, and is the only part that does (G9). Its files lie in a spool that all processes
 * share which share a data folder, each in a folder of its own.
 *
 * Never throws for what the outside does: every such end is a `MediaFailure`. It may throw for faults of ours
 * (a spool that cannot be written: `SpoolUnavailable`), and rejects with the signal's reason when it is aborted.
 * A fetch that failed or was aborted leaves no file behind.
 */
export interface MediaFetcher {
  fetch(wanted: MediaWanted, signal: AbortSignal): Promise<FetchedMedia | MediaFailure>
  /** Forgets a spool file, whichever worker made it. Harmless when it is gone already. What lies elsewhere is left alone. */
  discard(path: string): Promise<void>
  /**
   * Scans the whole spool and deletes the files of dead workers, unless they are wanted. Files of this or another living
   * worker are kept.
   */
  sweep(known: KnownFiles): Promise<Swept>
  /** Ends idle connections. Harmless when called twice. */
  close(): Promise<void>
}

/** Thrown when the spool cannot be written: a full or broken disk. Not the caller's fault, so nothing is failed for it. */
export class SpoolUnavailable extends Error {}
