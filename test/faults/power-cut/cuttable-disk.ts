import { execFile } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

// The files are sparse and take only what is written. XFS needs at least 300 MB.
const STORE_SIZE = '2G'
const DISK_SIZE = '192M'

/** What a power cut leaves behind, mounted for a check. */
export interface CutCopy {
  readonly path: string
  remove(): Promise<void>
}

/**
 * A disk whose power can be cut. It is a file on a file system that copies files instantly (XFS with reflink). The copy holds
 * what had reached the disk at that moment, and nothing that the kernel still kept in memory. It does not model a disk that
 * ignores a flush.
 */
export class CuttableDisk {
  readonly path: string
  readonly #store: string
  readonly #name: string
  #cuts = 0

  private constructor(store: string, name: string) {
    this.#store = store
    this.#name = name
    this.path = join(store, `${name}-disk`)
  }

  static async open(store: string, name: string): Promise<CuttableDisk> {
    const disk = new CuttableDisk(store, name)
    const image = disk.#file('image')
    await run('truncate', ['--size', DISK_SIZE, image])
    await run('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image])
    await mountImage(image, disk.path)
    return disk
  }

  /** A caller that compares must have recorded what was acknowledged before this call. */
  async cut(): Promise<CutCopy> {
    this.#cuts += 1
    const image = this.#file(`cut-${this.#cuts}`)
    const path = `${image}-disk`
    await run('cp', ['--reflink=always', this.#file('image'), image])
    await mountImage(image, path)
    const remove = async () => {
      await run('umount', [path])
      rmSync(image)
    }
    return { path, remove }
  }

  #file(what: string): string {
    return join(this.#store, `${this.#name}-${what}`)
  }
}

/** Mounts the file system for the disks. */
export async function mountStore(workDir: string): Promise<string> {
  const image = join(workDir, 'store-image')
  const store = join(workDir, 'store')
  await run('truncate', ['--size', STORE_SIZE, image])
  await run('mkfs.xfs', ['-q', '-m', 'reflink=1', image])
  await mountImage(image, store)
  return store
}

async function mountImage(image: string, path: string): Promise<void> {
  mkdirSync(path, { recursive: true })
  await run('mount', ['-o', 'loop', image, path])
}
