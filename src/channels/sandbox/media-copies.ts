import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { MessageId } from '../../core/ids.ts'
import type { MediaFile } from '../../core/message/message.ts'

/**
 * Copies of delivered media for the inbox, bounded: the oldest go first. Names are message ids, which sort by time.
 */
export class MediaCopies {
  readonly #folder: string
  readonly #mostBytes: number
  #sizes: Map<string, number> | null = null

  constructor(folder: string, mostBytes: number) {
    this.#folder = folder
    this.#mostBytes = mostBytes
  }

  /** The path of the copy; null when it is larger than the bound or could not be made. Never fails a delivery. */
  async keep(messageId: MessageId, media: MediaFile): Promise<string | null> {
    if (media.sizeBytes > this.#mostBytes) return null
    const path = join(this.#folder, messageId)
    try {
      const sizes = await this.#known()
      await rm(path, { force: true })
      // A second name for the same bytes costs nothing; across file systems it must be a real copy.
      await link(media.path, path).catch(() => copyFile(media.path, path))
      sizes.set(messageId, media.sizeBytes)
      await this.#makeRoom(sizes)
      return path
    } catch {
      return null
    }
  }

  async #known(): Promise<Map<string, number>> {
    if (this.#sizes) return this.#sizes
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const sizes = new Map<string, number>()
    for (const name of (await readdir(this.#folder)).sort())
      sizes.set(name, (await stat(join(this.#folder, name))).size)
    this.#sizes = sizes
    return sizes
  }

  async #makeRoom(sizes: Map<string, number>): Promise<void> {
    let total = 0
    for (const size of sizes.values()) total += size
    for (const [name, size] of sizes) {
      if (total <= this.#mostBytes) return
      sizes.delete(name)
      total -= size
      await rm(join(this.#folder, name), { force: true })
    }
  }
}
