import type { AccountId, ConnectionId } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import { StorageUnavailable } from '../../ports/lanes.ts'
import { type FetchedMedia, type MediaFailure, type MediaFetcher, SpoolUnavailable } from '../../ports/media.ts'
import type { MediaQueue, MediaToFetch } from '../../ports/media-queue.ts'
import { FETCHES_AT_ONCE, FetchScheduler, findFullHosts, type HostFetch, Turns } from './fetch-scheduler.ts'
import { SpoolMaintenance } from './spool-maintenance.ts'

const POLL_EVERY_MS = 1_000
// Messages that arrive during one poll share the next.
const POLL_AGAIN_AFTER_MS = 10
const CANDIDATES_PER_ACCOUNT = 32
const ACCOUNTS_AT_ONCE = 32
/**
 * Waits after the first, second and third temporary failure. The fourth try is the last, within three minutes, or ten if the
 * host asks for it.
 */
export const RETRY_DELAYS_MS = [5_000, 30_000, 120_000]
export const MOST_DOWNLOADS = RETRY_DELAYS_MS.length + 1
const RETRY_AFTER_MOST_MS = 150_000
const STALL_RETRY_MS = 5_000

export interface MediaStageParts {
  readonly queue: MediaQueue
  readonly fetcher: MediaFetcher
  readonly clock: Clock
  readonly journal: Journal
  /** Spool room per account for what is fetched ahead, in bytes. Lane heads are fetched regardless. */
  readonly quotaBytes: number
  /** The file of a message arrived, or the message failed without it. */
  readonly onSettled: (connectionId: ConnectionId, sequence: Sequence) => void
  /** Files of messages of this connection were lost. */
  readonly onLost: (connectionId: ConnectionId) => void
  /**
   * True when this free lane is assigned to another living worker. That worker fetches its media, so that the file lies on
   * the machine that sends it.
   */
  readonly belongsToPeer: (connectionId: ConnectionId) => boolean
}

interface Running extends HostFetch {
  readonly abort: AbortController
}

/**
 * Fetches attachments soon after acceptance, because signed URLs expire while a backlog waits. In parallel, bounded per
 * account and host, in turn between accounts; lane heads go first.
 *
 * Beside other workers it fetches for the lanes that this worker holds or is assigned to. Storage ensures that only one worker
 * fetches a file.
 */
export class MediaStage {
  readonly #parts: MediaStageParts
  readonly #maintenance: SpoolMaintenance
  /** Chosen, being claimed, or being fetched. */
  readonly #running = new Map<Sequence, Running>()
  /** Resolve when the fetches that run have ended. */
  readonly #ends = new Map<Sequence, Promise<void>>()
  /** Heads whose file is not in the spool yet, also those that another worker fetches. */
  readonly #heads = new Set<Sequence>()
  readonly #turns = { heads: new Turns(), ahead: new Turns() }
  /** The account that had its turn last; null begins with the first. */
  #turn: AccountId | null = null
  #stalledUntilMonotonic: number | null = null
  #polling = false
  #pollAgain = false
  #started = false
  #cancelPoll: (() => void) | null = null

  constructor(parts: MediaStageParts) {
    this.#parts = parts
    this.#maintenance = new SpoolMaintenance({ ...parts, records: parts.queue, onChanged: parts.onLost })
  }

  /** The worker must hold its lease by now, or other workers delete its files as left over. */
  async start(): Promise<void> {
    if (this.#started) return
    this.#started = true
    await this.#maintenance.start()
    this.wake()
  }

  /** Aborts running fetches, which start again after the next start. Harmless twice. */
  async stop(): Promise<void> {
    this.#started = false
    this.#cancelPoll?.()
    for (const running of this.#running.values()) running.abort.abort()
    await Promise.all([...this.#ends.values(), this.#maintenance.stop()])
  }

  /** There may be something to fetch. Cheap. */
  wake(): void {
    if (!this.#started) return
    if (this.#polling) {
      this.#pollAgain = true
      return
    }
    this.#polling = true
    void this.#poll().finally(() => {
      this.#polling = false
      this.#schedulePoll(this.#pollAgain ? POLL_AGAIN_AFTER_MS : POLL_EVERY_MS)
      this.#pollAgain = false
    })
  }

  /** Lanes wait for the files of these messages. */
  want(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.#heads.add(sequence)
    this.wake()
  }

  /** A file that should be in the spool is missing. */
  checkForLost(): void {
    this.#maintenance.checkForLost()
  }

  /** How many fetches are under way. */
  get fetchCount(): number {
    return this.#ends.size
  }

  #schedulePoll(delayMs: number): void {
    this.#cancelPoll?.()
    if (this.#started) this.#cancelPoll = this.#parts.clock.after(delayMs, () => this.wake())
  }

  async #poll(): Promise<void> {
    const { clock, journal } = this.#parts
    if (this.#stalledUntilMonotonic !== null && clock.monotonic() < this.#stalledUntilMonotonic) return
    try {
      await this.#beginHeads()
      await this.#beginDue()
    } catch (error) {
      journal.record({ event: 'storage.unavailable', error })
    }
  }

  async #beginHeads(): Promise<void> {
    const { queue, clock, onSettled } = this.#parts
    const asked = [...this.#heads].filter((sequence) => !this.#running.has(sequence))
    if (asked.length === 0) return
    const { missing, present } = await queue.checkHeads(asked)
    const stillMissing = new Set(missing.map((wanted) => wanted.sequence))
    for (const sequence of asked) if (!stillMissing.has(sequence)) this.#heads.delete(sequence)
    // Fetched by another worker, which notifies only its own lanes.
    for (const { connectionId, sequence } of present) onSettled(connectionId, sequence)
    const now = clock.now()
    const due = missing.filter((wanted) => wanted.nextTryAt <= now)
    await this.#begin(
      due.toSorted((a, b) => a.sequence - b.sequence),
      this.#turns.heads,
    )
  }

  async #beginDue(): Promise<void> {
    const { queue, clock, quotaBytes, belongsToPeer } = this.#parts
    let after = this.#turn
    while (this.#started && this.#running.size < FETCHES_AT_ONCE) {
      const { media, scannedThrough } = await queue.due({
        now: clock.now(),
        busy: new Set(this.#running.keys()),
        fullHosts: findFullHosts(this.#running.values()),
        after,
        accountsAtOnce: ACCOUNTS_AT_ONCE,
        perAccount: CANDIDATES_PER_ACCOUNT,
        quotaBytes,
      })
      await this.#begin(
        media.filter((wanted) => wanted.isLaneHeld || !belongsToPeer(wanted.connectionId)),
        this.#turns.ahead,
      )
      // The first account without room starts the next poll.
      const last =
        this.#running.size < FETCHES_AT_ONCE ? null : media.findLast(({ sequence }) => this.#running.has(sequence))
      this.#turn = last?.accountId ?? scannedThrough
      // Accounts before it come with the next poll, which the end of a running fetch triggers.
      if (scannedThrough === null) return
      after = scannedThrough
    }
  }

  /** Starts as many of these as the bounds allow now. */
  async #begin(candidates: readonly MediaToFetch[], turns: Turns): Promise<void> {
    const chosen = this.#reserve(candidates, turns)
    if (chosen.length === 0) return
    try {
      for (const taken of await this.#parts.queue.take(chosen)) {
        const running = this.#running.get(taken.sequence)
        if (running && this.#started) this.#run({ ...running, wanted: taken })
      }
    } finally {
      // Those that another worker claimed or that are no longer needed, and all if storage is unavailable.
      for (const sequence of chosen) if (!this.#ends.has(sequence)) this.#running.delete(sequence)
    }
  }

  #reserve(candidates: readonly MediaToFetch[], turns: Turns): readonly Sequence[] {
    if (!this.#started) return []
    const waiting = candidates.filter(({ sequence }) => !this.#running.has(sequence))
    const scheduler = new FetchScheduler(
      waiting.map((wanted) => ({ wanted, host: hostOf(wanted.url) })),
      this.#running.values(),
      turns,
    )
    const chosen: Sequence[] = []
    for (let next = scheduler.next(); next; next = scheduler.next()) {
      this.#running.set(next.wanted.sequence, { ...next, abort: new AbortController() })
      chosen.push(next.wanted.sequence)
    }
    return chosen
  }

  #run(running: Running): void {
    const { sequence } = running.wanted
    this.#running.set(sequence, running)
    const end = this.#fetch(running).finally(() => {
      this.#running.delete(sequence)
      this.#ends.delete(sequence)
      this.wake()
    })
    this.#ends.set(sequence, end)
  }

  async #fetch({ wanted, abort }: Running): Promise<void> {
    const { fetcher, clock, journal } = this.#parts
    const beganMonotonic = clock.monotonic()
    try {
      const spoolName = `${wanted.messageId}-${wanted.tries}`
      const result = await fetcher.fetch({ url: wanted.url, type: wanted.type, spoolName }, abort.signal)
      if (result.kind === 'fetched') await this.#arrived(wanted, result)
      // An aborted fetch says nothing about the file.
      else if (!abort.signal.aborted) await this.#failed(wanted, result, clock.monotonic() - beganMonotonic)
      this.#stalledUntilMonotonic = null
    } catch (error) {
      if (abort.signal.aborted) return
      const isStorage = error instanceof StorageUnavailable
      if (!isStorage && !(error instanceof SpoolUnavailable))
        return journal.record({ event: 'fault', where: 'media', error })
      // A file whose arrival cannot be recorded would be fetched again and again.
      this.#stall()
      journal.record({ event: isStorage ? 'storage.unavailable' : 'media.stalled', error })
    }
  }

  #stall(): void {
    this.#stalledUntilMonotonic = this.#parts.clock.monotonic() + STALL_RETRY_MS
  }

  async #arrived(wanted: MediaToFetch, { file, tookMs }: FetchedMedia): Promise<void> {
    const { queue, fetcher, clock, journal, onSettled } = this.#parts
    let isWanted: boolean
    try {
      isWanted = await queue.ready(wanted.sequence, { file, tookMs, at: clock.now() })
    } catch (error) {
      // It is fetched again later. If the record may have been committed, the file must stay.
      if (error instanceof StorageUnavailable && !error.unknown) await fetcher.discard(file.path)
      throw error
    }
    if (!isWanted) return fetcher.discard(file.path)
    const { messageId, tries } = wanted
    journal.record({ event: 'media.fetched', messageId, number: tries + 1, sizeBytes: file.sizeBytes, tookMs })
    onSettled(wanted.connectionId, wanted.sequence)
  }

  async #failed(wanted: MediaToFetch, failure: MediaFailure, tookMs: number): Promise<void> {
    const { queue, clock, journal, onSettled } = this.#parts
    const trial = { code: failure.code, words: failure.words, at: clock.now() }
    const delayMs = failure.mayPass ? RETRY_DELAYS_MS[wanted.tries] : undefined
    journal.record({
      event: 'media.failed',
      messageId: wanted.messageId,
      number: wanted.tries + 1,
      code: failure.code,
      tookMs,
      final: delayMs === undefined,
    })
    if (delayMs === undefined) {
      await queue.fail(wanted.sequence, trial)
      return onSettled(wanted.connectionId, wanted.sequence)
    }
    const waitMs = Math.min(failure.retryAfterMs ?? delayMs, RETRY_AFTER_MOST_MS)
    await queue.retry(wanted.sequence, { ...trial, nextTryAt: trial.at + waitMs })
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
