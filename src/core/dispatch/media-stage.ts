import type { AccountId, ConnectionId, Instant } from '../ids.ts'
import type { Sequence } from '../message/message.ts'
import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'
import { type MediaQueue, type MediaToFetch, StorageUnavailable } from '../ports/lanes.ts'
import { type FetchedMedia, type MediaFailure, type MediaFetcher, SpoolUnavailable } from '../ports/media.ts'

const PER_ACCOUNT = 4
const PER_HOST = 4
// A host that stalls must leave an account room for its other hosts.
const PER_HOST_OF_ACCOUNT = 2
// Enough that a few accounts with slow hosts leave room for all others (G8).
const IN_ALL = 64
const LOOK_EVERY_MS = 1_000
// Many messages may arrive during one look; they share the next.
const LOOK_AGAIN_AFTER_MS = 10
// A look at every spool file of a long backlog would hold everybody up, so the spool is walked a stretch at a time.
const CLEAN_EVERY_MS = 250
const CLEAN_BATCH = 500
const CANDIDATES_PER_ACCOUNT = 32
/** Waits after the first, second and third try that may pass. The fourth is the last: within three minutes, or ten if the host asks for it. */
const RETRY_DELAYS_MS = [5_000, 30_000, 120_000]
const RETRY_AFTER_MOST_MS = 150_000
const STALL_RETRY_MS = 5_000

export interface MediaStageParts {
  readonly queue: MediaQueue
  readonly fetcher: MediaFetcher
  readonly clock: Clock
  readonly journal: Journal
  /** Spool room per account for what is fetched ahead, in bytes. Heads of lanes are fetched whatever it says. */
  readonly quotaBytes: number
  /** The media of a message of this connection arrived, or it failed for want of it. */
  readonly onSettled: (connectionId: ConnectionId) => void
}

interface Running {
  readonly wanted: MediaToFetch
  readonly host: string
  readonly abort: AbortController
}

/**
 * Fetches attachments soon after acceptance, because signed URLs run out while a backlog waits. In parallel, bounded
 * per account and host, in turn between accounts; heads of lanes go first.
 */
export class MediaStage {
  readonly #parts: MediaStageParts
  readonly #running = new Map<Sequence, Running>()
  readonly #ends = new Set<Promise<void>>()
  readonly #urgent = new Set<Sequence>()
  #accounts: AccountId[] = []
  #stalledUntil: Instant | null = null
  #cleanedThrough: Sequence = 0
  #looking = false
  #lookAgain = false
  #started = false
  #cancelLook: (() => void) | null = null
  #cancelClean: (() => void) | null = null

  constructor(parts: MediaStageParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    if (this.#started) return
    this.#started = true
    await this.#parts.fetcher.sweep(new Set(await this.#parts.queue.wantedFiles()))
    this.#clean()
    this.wake()
  }

  /** Ends running fetches, which are begun afresh after the next start. Harmless twice. */
  async stop(): Promise<void> {
    this.#started = false
    this.#cancelLook?.()
    this.#cancelClean?.()
    for (const running of this.#running.values()) running.abort.abort()
    await Promise.all(this.#ends)
  }

  /** There may be something to fetch. Cheap. */
  wake(): void {
    if (!this.#started) return
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#looking = true
    void this.#look().finally(() => {
      this.#looking = false
      this.#scheduleLook(this.#lookAgain ? LOOK_AGAIN_AFTER_MS : LOOK_EVERY_MS)
      this.#lookAgain = false
    })
  }

  /** These messages are at the head of their lanes. */
  want(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.#urgent.add(sequence)
    this.wake()
  }

  /** True while the spool cannot be written: no message pays for that. */
  isStalled(): boolean {
    return this.#stalledUntil !== null
  }

  #scheduleLook(delayMs: number): void {
    this.#cancelLook?.()
    if (this.#started) this.#cancelLook = this.#parts.clock.after(delayMs, () => this.wake())
  }

  async #look(): Promise<void> {
    const { queue, clock, journal, quotaBytes } = this.#parts
    if (this.#stalledUntil !== null && clock.now() < this.#stalledUntil) return
    try {
      await this.#beginUrgent()
      if (this.#running.size >= IN_ALL) return
      this.#accounts = inTurn(this.#accounts, await queue.accountsWithPending())
      for (const accountId of this.#accounts) {
        if (this.#running.size >= IN_ALL || (await queue.spoolBytes(accountId)) >= quotaBytes) continue
        const busy = new Set(this.#running.keys())
        const due = await queue.due({ accountId, now: clock.now(), busy, limit: CANDIDATES_PER_ACCOUNT })
        for (const wanted of due) this.#begin(wanted)
      }
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
    }
  }

  async #beginUrgent(): Promise<void> {
    if (this.#urgent.size === 0) return
    const sequences = [...this.#urgent]
    const found = await this.#parts.queue.pendingOf(sequences)
    const pending = new Set(found.map((wanted) => wanted.sequence))
    for (const sequence of sequences) if (!pending.has(sequence)) this.#urgent.delete(sequence)
    const now = this.#parts.clock.now()
    for (const wanted of found) if (wanted.nextTryAt <= now && this.#begin(wanted)) this.#urgent.delete(wanted.sequence)
  }

  /** False when a bound leaves no room for it now. */
  #begin(wanted: MediaToFetch): boolean {
    if (!this.#started || this.#running.has(wanted.sequence)) return true
    const host = hostOf(wanted.url)
    if (this.#running.size >= IN_ALL) return false
    const ofAccount = this.#runningThat((running) => running.wanted.accountId === wanted.accountId)
    const ofHost = this.#runningThat((running) => running.host === host)
    if (ofAccount.length >= PER_ACCOUNT || ofHost.length >= PER_HOST) return false
    if (ofHost.filter((running) => ofAccount.includes(running)).length >= PER_HOST_OF_ACCOUNT) return false
    const running = { wanted, host, abort: new AbortController() }
    this.#running.set(wanted.sequence, running)
    const end = this.#fetch(running).finally(() => {
      this.#running.delete(wanted.sequence)
      this.#ends.delete(end)
      this.wake()
    })
    this.#ends.add(end)
    return true
  }

  #runningThat(matches: (running: Running) => boolean): Running[] {
    return [...this.#running.values()].filter(matches)
  }

  async #fetch({ wanted, abort }: Running): Promise<void> {
    const { fetcher, clock, journal } = this.#parts
    try {
      const spoolName = `${wanted.messageId}-${wanted.tries}`
      const result = await fetcher.fetch({ url: wanted.url, type: wanted.type, spoolName }, abort.signal)
      this.#stalledUntil = null
      if (result.kind === 'fetched') await this.#arrived(wanted, result)
      // A fetch that we ended ourselves says nothing about the file.
      else if (!abort.signal.aborted) await this.#failed(wanted, result)
    } catch (error) {
      if (abort.signal.aborted) return
      if (error instanceof StorageUnavailable) return journal.record({ event: 'storage.unavailable', error })
      if (!(error instanceof SpoolUnavailable)) return journal.record({ event: 'fault', where: 'media', error })
      this.#stalledUntil = clock.now() + STALL_RETRY_MS
      journal.record({ event: 'media.stalled', error })
    }
  }

  async #arrived(wanted: MediaToFetch, { file, tookMs }: FetchedMedia): Promise<void> {
    const { queue, fetcher, clock, journal, onSettled } = this.#parts
    if (!(await queue.ready(wanted.sequence, { file, tookMs, at: clock.now() }))) return fetcher.discard(file.path)
    journal.record({ event: 'media.fetched', messageId: wanted.messageId, sizeBytes: file.sizeBytes, tookMs })
    onSettled(wanted.connectionId)
  }

  async #failed(wanted: MediaToFetch, failure: MediaFailure): Promise<void> {
    const { queue, clock, journal, onSettled } = this.#parts
    const trial = { code: failure.code, words: failure.words, at: clock.now() }
    const delayMs = failure.mayPass ? RETRY_DELAYS_MS[wanted.tries] : undefined
    journal.record({
      event: 'media.failed',
      messageId: wanted.messageId,
      code: failure.code,
      final: delayMs === undefined,
    })
    if (delayMs === undefined) {
      await queue.fail(wanted.sequence, trial)
      return onSettled(wanted.connectionId)
    }
    const waitMs = Math.min(failure.retryAfterMs ?? delayMs, RETRY_AFTER_MOST_MS)
    await queue.retry(wanted.sequence, { ...trial, nextTryAt: trial.at + waitMs })
  }

  /** Lets go of the files of messages that are settled. */
  #clean(): void {
    const { queue, fetcher, clock, journal } = this.#parts
    const clean = async () => {
      const { files, lookedThrough } = await queue.releasable(this.#cleanedThrough, CLEAN_BATCH)
      this.#cleanedThrough = lookedThrough ?? 0
      for (const { path } of files) await fetcher.discard(path)
      if (files.length > 0) await queue.forget(files.map(({ sequence }) => sequence))
    }
    clean()
      .catch((error: unknown) => journal.record({ event: 'storage.unavailable', error }))
      .finally(() => {
        if (this.#started) this.#cancelClean = clock.after(CLEAN_EVERY_MS, () => this.#clean())
      })
  }
}

/** The accounts that have something, beginning after the one that was first last time. */
function inTurn(before: readonly AccountId[], now: readonly AccountId[]): AccountId[] {
  const start = before[0] === undefined ? 0 : now.indexOf(before[0]) + 1
  return [...now.slice(start), ...now.slice(0, start)]
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
