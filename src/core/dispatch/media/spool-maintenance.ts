import type { ConnectionId } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import { type MediaFetcher, SpoolUnavailable } from '../../ports/media.ts'
import type { SpooledFile, SpoolRecords } from '../../ports/media-queue.ts'

// Checking every spool file of a long backlog at once would delay everything else, so the spool is scanned in chunks.
const RELEASE_EVERY_MS = 250
// After a chunk without anything to release, the next one most likely has nothing either.
const RELEASE_IDLE_MS = 1_000
const BATCH = 500
const SWEEP_EVERY_MS = 300_000
// By then the attempt that missed a file is recorded, and the next one has not started.
const CHECK_FOR_LOST_AFTER_MS = 250
// Limits the load if files go missing all the time.
const SWEEP_GAP_MS = 2_000
/** A file that still goes missing after this many fetches fails its message: another program deletes the files. */
const MOST_FETCHES = 5

interface SpoolMaintenanceParts {
  readonly records: SpoolRecords
  readonly fetcher: Pick<MediaFetcher, 'discard' | 'sweep'>
  readonly clock: Clock
  readonly journal: Journal
  /** The media of these connections has changed. */
  readonly onChanged: (connectionId: ConnectionId) => void
}

/**
 * Keeps spool and storage consistent: deletes the files of finished messages and those that dead workers left, and has missing
 * files fetched again.
 */
export class SpoolMaintenance {
  readonly #parts: SpoolMaintenanceParts
  #releasedThrough: Sequence = 0
  #sweeping: Promise<void> | null = null
  #checkedForLostMonotonic = Number.NEGATIVE_INFINITY
  #sweepsAtMonotonic = Number.POSITIVE_INFINITY
  #missedMore = false
  #started = false
  #cancelRelease: (() => void) | null = null
  #cancelSweep: (() => void) | null = null

  constructor(parts: SpoolMaintenanceParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    if (this.#started) return
    this.#started = true
    await this.#sweep()
    this.#release()
  }

  /** Harmless twice or before start. */
  async stop(): Promise<void> {
    this.#started = false
    this.#cancelRelease?.()
    this.#cancelSweep?.()
    await this.#sweeping
  }

  /** A file that should be in the spool is missing. More may be. */
  checkForLost(): void {
    // The running sweep may have checked that file before it was lost.
    this.#missedMore = this.#sweeping !== null
    if (this.#missedMore) return
    const now = this.#parts.clock.monotonic()
    const at = Math.max(now + CHECK_FOR_LOST_AFTER_MS, this.#checkedForLostMonotonic + SWEEP_GAP_MS)
    if (this.#sweepIn(at - now)) this.#checkedForLostMonotonic = at
  }

  /** False when one is planned for an earlier time. */
  #sweepIn(delayMs: number): boolean {
    const { clock } = this.#parts
    const at = clock.monotonic() + delayMs
    if (!this.#started || this.#sweepsAtMonotonic <= at) return false
    this.#cancelSweep?.()
    this.#sweepsAtMonotonic = at
    this.#cancelSweep = clock.after(delayMs, () => void this.#sweep())
    return true
  }

  /** Never rejects: the next sweep repeats what failed. */
  #sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepNow()
      .catch((error: unknown) => this.#note(error))
      .finally(() => {
        const { clock } = this.#parts
        this.#sweeping = null
        this.#sweepsAtMonotonic = Number.POSITIVE_INFINITY
        // Jittered, so that workers which started together do not all scan the same folders at once.
        this.#sweepIn(SWEEP_EVERY_MS * (0.75 + clock.random() / 2))
        if (this.#missedMore) this.checkForLost()
      })
    return this.#sweeping
  }

  async #sweepNow(): Promise<void> {
    const { records, fetcher, clock, journal, onChanged } = this.#parts
    // The order matters. A worker that is dead now records nothing more, and every file that is wanted now is already on the
    // disk: so no file of a living worker is deleted, and no new one counts as missing.
    const living = await records.livingWorkers()
    const wanted = await this.#wantedFiles()
    const { missing } = await fetcher.sweep({ living, wanted: new Set(wanted.keys()) })
    const lost = missing.map((path) => ({ path, sequence: wanted.get(path) ?? 0 }))
    for (let at = 0; at < lost.length && this.#started; at += BATCH) {
      const when = { at: clock.now(), mostTries: MOST_FETCHES }
      const changed = await records.lost(lost.slice(at, at + BATCH), when)
      if (changed.length > 0) journal.record({ event: 'media.lost', connections: changed.length })
      for (const connectionId of changed) onChanged(connectionId)
    }
  }

  async #wantedFiles(): Promise<ReadonlyMap<string, Sequence>> {
    const wanted = new Map<string, Sequence>()
    let page: readonly SpooledFile[]
    let after: Sequence = 0
    do {
      page = await this.#parts.records.wantedFiles(after, BATCH)
      for (const { path, sequence } of page) wanted.set(path, sequence)
      after = page.at(-1)?.sequence ?? after
    } while (page.length === BATCH && this.#started)
    return wanted
  }

  #release(): void {
    let delayMs = RELEASE_IDLE_MS
    this.#releaseSome()
      .then((isBusy) => {
        if (isBusy) delayMs = RELEASE_EVERY_MS
      })
      .catch((error: unknown) => this.#note(error))
      .finally(() => {
        if (this.#started) this.#cancelRelease = this.#parts.clock.after(delayMs, () => this.#release())
      })
  }

  /** True when there is more to scan, or files were deleted. */
  async #releaseSome(): Promise<boolean> {
    const { records, fetcher } = this.#parts
    const { files, scannedThrough } = await records.releasable(this.#releasedThrough, BATCH)
    this.#releasedThrough = scannedThrough ?? 0
    for (const { path } of files) await fetcher.discard(path)
    if (files.length > 0) await records.forget(files.map(({ sequence }) => sequence))
    return files.length > 0 || scannedThrough !== null
  }

  #note(error: unknown): void {
    const { journal } = this.#parts
    if (error instanceof SpoolUnavailable) journal.record({ event: 'media.stalled', error })
    else journal.record({ event: 'storage.unavailable', error })
  }
}
