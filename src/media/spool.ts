import type { Dirent } from 'node:fs'
import { access, type FileHandle, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { WorkerId } from '../core/ids.ts'
import { type KnownFiles, SpoolUnavailable, type Swept } from '../core/ports/media.ts'

const SPOOL_NAME = /^[A-Za-z0-9-]{1,200}$/
const SPOOL_FILE = /^[A-Za-z0-9-]{1,200}\.(part|media)$/

/** A file that is being written. Either `keep` or `abandon` ends it. */
export interface SpoolFile {
  write(pieces: readonly Uint8Array[]): Promise<void>
  read(position: number, length: number): Promise<Buffer>
  /** Makes the file durable and returns its path. From then on the whole file survives a power cut. */
  keep(): Promise<string>
  /** Removes the file. Never fails, and may be called after `keep` has failed. */
  abandon(): Promise<void>
}

interface SpoolOptions {
  /** The folder of all workers. */
  readonly directory: string
  readonly worker: WorkerId
  /** Replaced by tests that need a broken disk. */
  readonly openFile?: typeof open
}

/**
 * The folder in which fetched files wait until their message is sent. Each process writes into a folder of its own, so that
 * none sees a half-written file of another. A process may send files from every folder.
 *
 *   WORKER/NAME.part ── keep: fsync, rename, fsync of the folder ──▶ WORKER/NAME.media ── discard ──▶ gone
 *       └── abandon ──▶ gone
 *
 * A `.media` file is always whole. `sweep` removes what a crash leaves behind, once its worker is dead.
 */
export class Spool {
  readonly #directory: string
  readonly #own: string
  readonly #openFile: typeof open
  readonly #writing = new Set<string>()
  #isFolderKept = false

  constructor({ directory, worker, openFile = open }: SpoolOptions) {
    if (!SPOOL_NAME.test(worker)) throw new TypeError('A worker’s name is made of letters, digits and dashes')
    this.#directory = resolve(directory)
    this.#own = join(this.#directory, worker)
    this.#openFile = openFile
  }

  async create(name: string): Promise<SpoolFile> {
    if (!SPOOL_NAME.test(name)) throw new TypeError('A spool name is made of letters, digits and dashes')
    const part = join(this.#own, `${name}.part`)
    const path = join(this.#own, `${name}.media`)
    if (this.#writing.has(path)) throw new Error('This spool name is in use')
    this.#writing.add(path)
    try {
      const handle = await onDisk(async () => {
        await this.#makeOwnFolder()
        // This process is not writing it, so a failure left it behind.
        await rm(part, { force: true })
        // Private from its creation. `x`: never write through a file or link that another user put there.
        return this.#openFile(part, 'wx+', 0o600)
      })
      return this.#writer(handle, { part, path })
    } catch (error) {
      this.#writing.delete(path)
      throw error
    }
  }

  #writer(handle: FileHandle, { part, path }: { readonly part: string; readonly path: string }): SpoolFile {
    let isNamed = false
    return {
      write: (pieces) => onDisk(() => writeAll(handle, pieces)),
      read: (position, length) =>
        onDisk(async () => {
          const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
          return buffer.subarray(0, bytesRead)
        }),
      keep: () =>
        onDisk(async () => {
          // In this order a power cut leaves either no `.media` file or a whole one.
          await handle.sync()
          await handle.close()
          await rename(part, path)
          isNamed = true
          await this.#syncDirectory(this.#own)
          this.#writing.delete(path)
          return path
        }),
      abandon: async () => {
        await handle.close().catch(() => {})
        await rm(part, { force: true }).catch(() => {})
        if (isNamed) await rm(path, { force: true }).catch(() => {})
        this.#writing.delete(path)
      },
    }
  }

  async #makeOwnFolder(): Promise<void> {
    const first = await mkdir(this.#own, { recursive: true, mode: 0o700 })
    if (first === undefined && this.#isFolderKept) return
    // If a power cut removed the folder, its files would be lost, too.
    for (const folder of foldersAbove(this.#own, first ?? this.#own)) await this.#syncDirectory(folder)
    this.#isFolderKept = true
  }

  async #syncDirectory(folder: string): Promise<void> {
    const handle = await this.#openFile(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async discard(path: string): Promise<void> {
    const absolute = resolve(path)
    const folder = dirname(absolute)
    // Files from before each worker had a folder lie directly in the spool.
    const isOurs =
      folder === this.#directory || (dirname(folder) === this.#directory && SPOOL_NAME.test(basename(folder)))
    if (isOurs && SPOOL_FILE.test(basename(absolute))) await onDisk(() => rm(absolute, { force: true }))
  }

  sweep({ living, wanted }: KnownFiles): Promise<Swept> {
    return onDisk(async () => {
      const alive = new Set([this.#own, ...living.map((worker) => join(this.#directory, worker))])
      const keep = new Set([...wanted].map((path) => resolve(path)))
      const there = new Set<string>()
      let removed = 0
      for (const folder of [this.#directory, ...(await this.#workerFolders())]) {
        for (const path of await listFiles(folder)) {
          if (alive.has(folder) || keep.has(path)) there.add(path)
          else {
            await rm(path, { force: true })
            removed += 1
          }
        }
        if (folder !== this.#directory && !alive.has(folder)) await removeIfEmpty(folder)
      }
      return { removed, missing: await findMissing(wanted, there) }
    })
  }

  async #workerFolders(): Promise<readonly string[]> {
    const entries = await list(this.#directory)
    return entries
      .filter((entry) => entry.isDirectory() && SPOOL_NAME.test(entry.name))
      .map((entry) => join(this.#directory, entry.name))
  }
}

/** The folders in which those from `first` down to `last` were made. */
function foldersAbove(last: string, first: string): readonly string[] {
  const above = dirname(last)
  return last === first ? [above] : [above, ...foldersAbove(above, first)]
}

/** Only names that we make: a mistyped setting must not delete files of others. */
async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await list(folder)
  return entries
    .filter((entry) => entry.isFile() && SPOOL_FILE.test(entry.name))
    .map((entry) => join(folder, entry.name))
}

/** Empty when the folder does not exist: it is not made yet, or another worker has just removed it. */
async function list(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Other processes may do the same at once, or the worker may still be alive and use the folder. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {})
}

/** Wanted files that the sweep did not see are checked by path, because a moved spool has files elsewhere. */
async function findMissing(wanted: Iterable<string>, there: ReadonlySet<string>): Promise<readonly string[]> {
  const missing: string[] = []
  for (const path of wanted) if (!there.has(resolve(path)) && (await isGone(path))) missing.push(path)
  return missing
}

async function isGone(path: string): Promise<boolean> {
  try {
    await access(path)
    return false
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Other errors, such as of a disk that does not answer, prove nothing about the file.
    if (code === 'ENOENT' || code === 'ENOTDIR') return true
    throw error
  }
}

async function writeAll(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  // The system takes at most this many buffers in one call.
  for (let at = 0; at < pieces.length; at += 1000) {
    const some = pieces.slice(at, at + 1000)
    const wanted = some.reduce((sum, piece) => sum + piece.length, 0)
    const { bytesWritten } = await handle.writev(some)
    // A nearly full disk writes a part, and fails only at the next call.
    if (bytesWritten < wanted) await writeRest(handle, Buffer.concat(some).subarray(bytesWritten))
  }
}

async function writeRest(handle: FileHandle, rest: Uint8Array): Promise<void> {
  let written = 0
  while (written < rest.length) {
    const { bytesWritten } = await handle.write(rest, written)
    written += bytesWritten
  }
}

async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new SpoolUnavailable(`The media spool cannot be used (${code ?? 'unknown error'}).`, { cause })
  }
}
