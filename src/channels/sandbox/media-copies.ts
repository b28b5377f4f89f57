import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { MessageId } from '../../core/ids.ts'
import type { MediaFile } from '../../core/message/message.ts'

// Other processes fill the same folder. Each of them lists it again after it has added this part of the bound (1/16).
const LISTINGS_PER_BOUND = 16

/**
 * Copies of delivered media for the inbox, bounded: the oldest go first. Names are message ids, which sort by time. The
 * folder is shared by all processes of a machine.
 */
export class MediaCopies {
  readonly #folder: string
  readonly #mostBytes: number
  /** The size of the folder at the last listing; null before the first. */
  #foundBytes: number | null = null
  #addedBytes = 0
  #tidying: Promise<void> | null = null

  constructor(folder: string, mostBytes: number) {
    this.#folder = folder
    this.#mostBytes = mostBytes
  }

  /** The path of the copy; null when it is larger than the bound or could not be made. Never fails a delivery. */
  async keep(messageId: MessageId, media: MediaFile): Promise<string | null> {
    if (media.sizeBytes > this.#mostBytes) return null
    const path = join(this.#folder, messageId)
    try {
      if (this.#foundBytes === null) await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await rm(path, { force: true })
      // A second name for the same bytes costs nothing; across file systems it must be a real copy.
      await link(media.path, path).catch(() => copyFile(media.path, path))
      this.#addedBytes += media.sizeBytes
      if (this.#mayBeFull()) await this.#tidy()
      return path
    } catch {
      return null
    }
  }

  #mayBeFull(): boolean {
    if (this.#foundBytes === null || this.#addedBytes > this.#mostBytes / LISTINGS_PER_BOUND) return true
    return this.#foundBytes + this.#addedBytes > this.#mostBytes
  }

  #tidy(): Promise<void> {
    this.#tidying ??= this.#makeRoom().finally(() => {
      this.#tidying = null
    })
    return this.#tidying
  }

  async #makeRoom(): Promise<void> {
    const addedBefore = this.#addedBytes
    const copies = await this.#list()
    let total = copies.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    for (const { path, sizeBytes } of copies) {
      if (total <= this.#mostBytes) break
      await rm(path, { force: true })
      total -= sizeBytes
    }
    this.#foundBytes = total
    this.#addedBytes -= addedBefore
  }

  /** Oldest first. */
  async #list(): Promise<readonly { path: string; sizeBytes: number }[]> {
    const copies: { path: string; sizeBytes: number }[] = []
    for (const name of (await readdir(this.#folder)).sort()) {
      const path = join(this.#folder, name)
      // Another process may have removed it since.
      const facts = await stat(path).catch(() => null)
      if (facts) copies.push({ path, sizeBytes: facts.size })
    }
    return copies
  }
}
