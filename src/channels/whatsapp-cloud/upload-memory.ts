import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { MediaFile } from '../../core/message/message.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'

export const UPLOAD_KIND = 'upload'
// Meta keeps an upload for 30 days (its page “Media”). A day less, so that none ends between the query and the call.
const LIVES_MS = 29 * 24 * 3_600_000
const MOST_KNOWN = 10_000

export interface Upload {
  /** Meta's id of it. */
  readonly id: string
  readonly uploadedAt: Instant
}

/** Identifies an upload: which content, under which number. */
export interface UploadKey {
  readonly connectionId: ConnectionId
  readonly phoneNumberId: string
  /** The file, with the MIME type that Meta gets. */
  readonly media: Pick<MediaFile, 'sha256' | 'mime'>
}

/** Uploads that may be sent again, in storage: the worker that sends need not be the one that uploaded. */
export class UploadMemory {
  readonly #memory: ChannelState
  readonly #clock: Clock
  /** What this process uploaded or found lately, the oldest first. */
  readonly #known = new Map<string, Upload>()

  constructor(memory: ChannelState, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  /** Null when there is none that Meta still has. */
  async find(key: UploadKey): Promise<Upload | null> {
    const known = this.#known.get(cacheKey(key))
    if (known && this.#isAlive(known)) return known
    const entry = await this.#memory.find(UPLOAD_KIND, key.connectionId, entryKey(key))
    if (!entry) return null
    const upload = JSON.parse(entry.value) as Upload
    if (!this.#isAlive(upload)) return null
    this.#remember(key, upload)
    return upload
  }

  /** Durable when it resolves. */
  async keep(key: UploadKey, upload: Upload): Promise<void> {
    await this.forget(key)
    const { connectionId } = key
    const { uploadedAt } = upload
    const value = JSON.stringify(upload)
    const entry = { connectionId, key: entryKey(key), value, at: uploadedAt, remindAt: uploadedAt + LIVES_MS }
    // Another worker may have uploaded the same meanwhile: then its upload counts in storage, and both are good.
    await this.#memory.add(UPLOAD_KIND, entry)
    this.#remember(key, upload)
  }

  /** Meta does not have it any more. */
  async forget(key: UploadKey): Promise<void> {
    this.#known.delete(cacheKey(key))
    const entry = await this.#memory.find(UPLOAD_KIND, key.connectionId, entryKey(key))
    if (entry) await this.#memory.remove(UPLOAD_KIND, entry.position)
  }

  #isAlive({ uploadedAt }: Upload): boolean {
    const now = this.#clock.now()
    return now < uploadedAt + LIVES_MS
  }

  #remember(key: UploadKey, upload: Upload): void {
    this.#known.set(cacheKey(key), upload)
    if (this.#known.size <= MOST_KNOWN) return
    const [first] = this.#known.keys()
    if (first !== undefined) this.#known.delete(first)
  }
}

function entryKey({ phoneNumberId, media }: UploadKey): string {
  return `${phoneNumberId}:${media.sha256}:${media.mime}`
}

function cacheKey(key: UploadKey): string {
  return `${key.connectionId}:${entryKey(key)}`
}
