import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { SpoolUnavailable } from '../core/ports/media.ts'

const SPOOL_NAME = /^[A-Za-z0-9-]{1,200}$/
const SPOOL_FILE = /^[A-Za-z0-9-]{1,200}\.(part|media)$/

/** A file that is being written. Either `keep` or `abandon` ends it. */
export interface SpoolFile {
  write(pieces: readonly Uint8Array[]): Promise<void>
  read(position: number, length: number): Promise<Buffer>
  /** Makes the file permanent and returns its path: from then on it survives a power cut, whole. */
  keep(): Promise<string>
  /** Removes the file. Never fails, and is harmless after `keep` has failed. */
  abandon(): Promise<void>
}

/**
 * The folder where fetched files wait for their message to be sent.
 *
 *   NAME.part ── keep: fsync, rename, fsync of the folder ──▶ NAME.media ── discard ──▶ gone
 *       └── abandon ──▶ gone
 *
 * A `.media` file is always whole. What a crash leaves behind is found by `sweep`.
 */
export class Spool {
  readonly #directory: string
  readonly #openFile: typeof open
  readonly #writing = new Set<string>()
  /** Made by this process and not yet discarded: the caller may not have recorded them when it calls `sweep`. */
  readonly #kept = new Set<string>()

  /** `openFile` is replaced by tests that need a broken disk. */
  constructor(directory: string, openFile: typeof open = open) {
    this.#directory = resolve(directory)
    this.#openFile = openFile
  }

  async create(name: string): Promise<SpoolFile> {
    if (!SPOOL_NAME.test(name)) throw new TypeError('A spool name is made of letters, digits and dashes')
    const part = join(this.#directory, `${name}.part`)
    const path = join(this.#directory, `${name}.media`)
    if (this.#writing.has(path)) throw new Error('This spool name is in use')
    this.#writing.add(path)
    try {
      const handle = await onDisk(async () => {
        await mkdir(this.#directory, { recursive: true, mode: 0o700 })
        // Nobody here writes it, so a crash left it behind.
        await rm(part, { force: true })
        // Private to us from the first moment. `x`: never write through a file or link that somebody put there.
        return this.#openFile(part, 'wx+', 0o600)
      })
      return this.#writer(handle, { part, path })
    } catch (error) {
      this.#writing.delete(path)
      throw error
    }
  }

  #writer(handle: FileHandle, { part, path }: { readonly part: string; readonly path: string }): SpoolFile {
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
          this.#kept.add(path)
          await this.#syncDirectory()
          this.#writing.delete(path)
          return path
        }),
      abandon: async () => {
        await handle.close().catch(() => {})
        await rm(part, { force: true }).catch(() => {})
        if (this.#kept.delete(path)) await rm(path, { force: true }).catch(() => {})
        this.#writing.delete(path)
      },
    }
  }

  async #syncDirectory(): Promise<void> {
    const handle = await this.#openFile(this.#directory, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async discard(path: string): Promise<void> {
    const absolute = resolve(path)
    if (dirname(absolute) !== this.#directory || !SPOOL_FILE.test(basename(absolute))) {
      throw new Error('Only files of the spool can be discarded')
    }
    await onDisk(() => rm(absolute, { force: true }))
    this.#kept.delete(absolute)
  }

  async sweep(known: ReadonlySet<string>): Promise<number> {
    const keep = new Set([...known].map((path) => resolve(path)))
    const names = await onDisk(() => listFiles(this.#directory))
    let removed = 0
    for (const name of names) {
      const path = join(this.#directory, name)
      // Only what looks like ours: a mistyped directory must not cost its owner a file.
      if (!SPOOL_FILE.test(name) || keep.has(path) || this.#isOurs(path)) continue
      await onDisk(() => rm(path, { force: true }))
      removed += 1
    }
    return removed
  }

  #isOurs(path: string): boolean {
    return path.endsWith('.part') ? this.#writing.has(path.replace(/part$/, 'media')) : this.#kept.has(path)
  }
}

async function listFiles(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function writeAll(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  // The system takes so many pieces in one call and no more.
  for (let at = 0; at < pieces.length; at += 1000) {
    const some = pieces.slice(at, at + 1000)
    const wanted = some.reduce((sum, piece) => sum + piece.length, 0)
    const { bytesWritten } = await handle.writev(some)
    // A nearly full disk takes a part, and refuses the rest only at the next call.
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
