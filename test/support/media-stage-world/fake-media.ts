import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'
import type { FetchedMedia, MediaFailure, MediaFetcher, MediaWanted } from '../../../src/core/ports/media.ts'
import type { DueMedia, DueRequest, MediaQueue, MediaToFetch } from '../../../src/core/ports/media-queue.ts'

export function failed(given: Partial<MediaFailure> = {}): MediaFailure {
  return { kind: 'failed', code: 'media_timeout', mayPass: true, words: 'slow', retryAfterMs: null, ...given }
}

interface Pending extends MediaToFetch {
  isDone: boolean
}

/** A queue of files to fetch, in memory. */
export class FakeQueue implements MediaQueue {
  readonly items: Pending[] = []
  readonly done: string[] = []
  readonly forgotten: number[] = []
  settledFiles: { sequence: number; path: string }[] = []
  isWanted = true
  isAway: false | 'certainly' | 'unknown' = false
  /** As with a full disk: rows can be read and not written. */
  isReadOnly = false
  spooled = 0
  polls = 0
  /** The files that other workers are fetching. */
  readonly ofOthers = new Set<number>()

  add({
    host,
    account = 'account',
    isLaneHeld = true,
  }: {
    host: string
    account?: string
    isLaneHeld?: boolean
  }): Pending {
    const sequence = this.items.length + 1
    const item: Pending = {
      sequence,
      messageId: `message-${sequence}` as MessageId,
      accountId: account as AccountId,
      connectionId: `connection ${sequence}` as ConnectionId,
      url: `https://${host}.example/${sequence}`,
      type: 'image',
      tries: 0,
      nextTryAt: 0,
      isLaneHeld,
      isDone: false,
    }
    this.items.push(item)
    return item
  }

  async due({ now, busy, fullHosts, after, accountsAtOnce, perAccount, quotaBytes }: DueRequest): Promise<DueMedia> {
    this.polls += 1
    const hasRoom = ({ url, accountId }: Pending) =>
      !fullHosts.some((full) => url.includes(`/${full.host}/`) && (full.accountId ?? accountId) === accountId)
    const waiting = this.#pending().filter((item) => item.nextTryAt <= now && !busy.has(item.sequence) && hasRoom(item))
    const accounts = [...new Set(waiting.map(({ accountId }) => accountId))].filter((id) => id > (after ?? '')).sort()
    const some = this.spooled >= quotaBytes ? [] : accounts.slice(0, accountsAtOnce)
    const media = some.flatMap((id) => waiting.filter(({ accountId }) => accountId === id).slice(0, perAccount))
    return { media, scannedThrough: some.length < accounts.length ? (some.at(-1) ?? null) : null }
  }

  async checkHeads(sequences: readonly number[]) {
    const asked = this.items.filter((item) => sequences.includes(item.sequence))
    const present = asked
      .filter((item) => item.isDone)
      .map(({ connectionId, sequence }) => ({ connectionId, sequence }))
    return { missing: asked.filter((item) => !item.isDone), present }
  }

  async take(sequences: readonly number[]) {
    if (this.isAway) throw new StorageUnavailable('away', false)
    return this.#pending().filter((item) => sequences.includes(item.sequence) && !this.ofOthers.has(item.sequence))
  }

  async ready(sequence: number) {
    if (this.isReadOnly) throw new StorageUnavailable('full', false)
    if (this.isAway) throw new StorageUnavailable('away', this.isAway === 'unknown')
    if (!this.isWanted) return false
    this.#end(sequence, 'ready')
    return true
  }

  async retry(sequence: number, { nextTryAt }: { nextTryAt: number }) {
    const item = this.items[sequence - 1]
    if (item) Object.assign(item, { tries: item.tries + 1, nextTryAt })
    this.done.push(`${sequence} retry`)
  }

  async fail(sequence: number, { code }: { code: string }) {
    this.#end(sequence, `failed ${code}`)
  }

  async releasable() {
    return { files: this.settledFiles.splice(0), scannedThrough: null }
  }

  async forget(sequences: readonly number[]) {
    this.forgotten.push(...sequences)
  }

  async lost() {
    return []
  }

  async wantedFiles() {
    return []
  }

  async livingWorkers() {
    return []
  }

  #pending() {
    return this.items.filter((item) => !item.isDone)
  }

  #end(sequence: number, how: string) {
    const item = this.items[sequence - 1]
    if (item) item.isDone = true
    this.done.push(`${sequence} ${how}`)
  }
}

/** Fetches that end when their signal says so. */
export class FakeFetcher implements MediaFetcher {
  readonly #queue: FakeQueue
  readonly discarded: string[] = []
  running: {
    sequence: number
    account: string
    resolve: (result: FetchedMedia | MediaFailure) => void
    reject: (error: Error) => void
  }[] = []
  aborted = 0

  constructor(queue: FakeQueue) {
    this.#queue = queue
  }

  fetch(wanted: MediaWanted, signal: AbortSignal): Promise<FetchedMedia | MediaFailure> {
    const item = this.#queue.items.find(({ url }) => url === wanted.url)
    return new Promise((resolve, reject) => {
      this.running.push({ sequence: item?.sequence ?? 0, account: item?.accountId ?? '', resolve, reject })
      signal.addEventListener('abort', () => {
        this.aborted += 1
        resolve(failed())
      })
    })
  }

  /** Ends the oldest running fetch. */
  end(result: FetchedMedia | MediaFailure): void {
    this.running.shift()?.resolve(result)
  }

  fail(error: Error): void {
    this.running.shift()?.reject(error)
  }

  async discard(path: string) {
    this.discarded.push(path)
  }

  async sweep() {
    return { removed: 0, missing: [] }
  }

  async close() {}
}
