import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { decodeText } from '../core/decode-text.ts'
import { Refusal } from '../core/refusals.ts'
import { KEY_BYTES, Key } from './key.ts'
import type { KeySet, KeySource } from './key-ring.ts'

const OTHERS = 0o077
// A killed process leaves its unfinished file behind. A running one needs it for some milliseconds.
const ABANDONED_AFTER_MS = 60_000

/** One key in the file. */
interface Written {
  readonly version: 1
  /** New secrets are sealed with it. */
  readonly sealsWith: string
  /** Since when, for people and for `remove-key`. */
  readonly sealsWithSince: string
  readonly keys: readonly { readonly id: string; readonly madeAt: string; readonly key: string }[]
}

interface KeySetSince extends KeySet {
  readonly since: number
}

/** The file of the key ring. Changes are written to a file beside it first, so a crash leaves either the old or the new ring. */
export class KeyRingFile implements KeySource {
  readonly place: string

  constructor(path: string) {
    this.place = path
  }

  /** Refuses with `key_ring_unusable` when the check fails. */
  exists(): boolean {
    try {
      return statOf(this.place) !== null
    } catch (error) {
      throw this.#unreadable(error)
    }
  }

  /** Refuses with `key_ring_unusable`. */
  read(): KeySetSince {
    const decoded = decodeText(this.#readBytes())
    const keySet = 'wrong' in decoded ? null : parse(decoded.text)
    if (keySet) return keySet
    throw new Refusal(
      'key_ring_unusable',
      `The key ring ${this.place} is damaged, so no secret can be opened. Restore it from its own backup, or copy it from another machine of this installation.`,
    )
  }

  /** Makes a ring with one key. If several processes do this at once, one makes it and the others read it. */
  make(now: number): void {
    const key = Key.make(now)
    this.#writeBeside({ keys: [key], sealsWith: key, since: now }, `${this.place}.${process.pid}`, (beside) => {
      try {
        // A link, because it never replaces an existing file.
        linkSync(beside, this.place)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      } finally {
        rmSync(beside, { force: true })
      }
    })
  }

  /**
   * Replaces the content. Two concurrent changes could lose a key, so the second one is refused. `decide` returns null to
   * leave the file unchanged.
   */
  change(decide: (found: KeySetSince) => KeySetSince | null, now: number): void {
    const beside = `${this.place}.new`
    try {
      clearAbandoned(beside, now)
    } catch (error) {
      throw this.#unwritable(error)
    }
    const before = statOf(this.place)
    const [uid, gid] = [before?.uid ?? -1, before?.gid ?? -1]
    this.#holding(beside, (file) => {
      const next = decide(this.read())
      if (!next) return
      writeFileSync(file, print(next))
      fsyncSync(file)
      // A change by root must not take the file from the service's user.
      if (uid !== process.getuid?.()) fchownSync(file, uid, gid)
      this.#putInPlace(beside, file)
    })
  }

  /**
   * If this process was suspended for a minute, another one may have considered it dead, and the file under this name may be
   * the other's, still empty. So the file gets a unique second name, and becomes the ring only if it is the one we wrote. The
   * first name stays and keeps other processes out until the ring is replaced.
   */
  #putInPlace(beside: string, file: number): void {
    const mine = uniqueName(beside)
    try {
      linkSync(beside, mine)
      if (!isSame(mine, file) || !parse(readFileSync(mine, 'utf8'))) throw this.#takenOver()
      renameSync(mine, this.place)
    } catch (error) {
      throw codeOf(error) === 'ENOENT' ? this.#takenOver(error) : error
    } finally {
      rmSync(mine, { force: true })
    }
    syncFolder(this.place)
  }

  #holding(beside: string, work: (file: number) => void): void {
    let file: number
    try {
      file = openSync(beside, 'wx', 0o600)
    } catch (error) {
      throw codeOf(error) === 'EEXIST' ? this.#takenOver(error) : this.#unwritable(error)
    }
    try {
      work(file)
    } catch (error) {
      throw error instanceof Refusal ? error : this.#unwritable(error)
    } finally {
      // Only our own file, not that of a process that considered us dead.
      if (isSame(beside, file)) rmSync(beside, { force: true })
      closeSync(file)
    }
  }

  #takenOver(cause?: unknown): Refusal {
    return new Refusal(
      'key_ring_unusable',
      `Another process is changing the key ring ${this.place} at this moment. Try again in a minute.`,
      null,
      { cause },
    )
  }

  #writeBeside(keySet: KeySetSince, beside: string, then: (beside: string) => void): void {
    try {
      const first = mkdirSync(dirname(this.place), { recursive: true, mode: 0o700 })
      if (first !== undefined) syncFolder(first)
      // Left by a killed process with our process number.
      rmSync(beside, { force: true })
      const file = openSync(beside, 'wx', 0o600)
      try {
        // Explicit, because the umask of an operator may remove too many permissions.
        chmodSync(beside, 0o600)
        writeFileSync(file, print(keySet))
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      then(beside)
      syncFolder(this.place)
    } catch (error) {
      throw this.#unwritable(error)
    }
  }

  #readBytes(): Buffer {
    try {
      const found = statSync(this.place)
      if ((found.mode & OTHERS) === 0) return readFileSync(this.place)
    } catch (error) {
      throw this.#unreadable(error)
    }
    throw new Refusal(
      'key_ring_unusable',
      `Other users of this machine may read the key ring ${this.place}. Close it to them: chmod 600 ${this.place}`,
    )
  }

  #unreadable(error: unknown): Refusal {
    return new Refusal(
      'key_ring_unusable',
      `The key ring ${this.place} cannot be read (${codeOf(error)}). It must be there and belong to the user that runs Nuncio.`,
      null,
      { cause: error },
    )
  }

  #unwritable(error: unknown): Refusal {
    return new Refusal(
      'key_ring_unusable',
      `The key ring ${this.place} cannot be written (${codeOf(error)}). Its folder must belong to the user that runs Nuncio; NUNCIO_KEY_RING_FILE names another place.`,
      null,
      { cause: error },
    )
  }
}

/**
 * Removes the file of a killed process. Two processes may do this at once, and then the slower one finds the new file of the
 * faster one under that name. So it renames the file first, checks it, and restores it if it is not the leftover one.
 */
function clearAbandoned(beside: string, now: number): void {
  if (!isAbandoned(beside, now)) return
  const aside = uniqueName(beside)
  try {
    renameSync(beside, aside)
    // A link, because it never replaces an existing file. If the owner misses the file meanwhile, its change is refused.
    if (!isAbandoned(aside, now)) linkSync(aside, beside)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error))) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

function isAbandoned(path: string, now: number): boolean {
  const found = statOf(path)
  return found !== null && now - found.mtimeMs > ABANDONED_AFTER_MS
}

function uniqueName(beside: string): string {
  return `${beside}.${process.pid}.${randomBytes(6).toString('hex')}`
}

/** Whether this path is the file that is open here. While it is open, no other has its number. */
function isSame(path: string, file: number): boolean {
  const [there, here] = [statSync(path, { bigint: true, throwIfNoEntry: false }), fstatSync(file, { bigint: true })]
  return there?.ino === here.ino && there.dev === here.dev
}

function print({ keys, sealsWith, since }: KeySetSince): string {
  const written: Written = {
    version: 1,
    sealsWith: sealsWith.id,
    sealsWithSince: new Date(since).toISOString(),
    keys: keys.map((key) => ({
      id: key.id,
      madeAt: new Date(key.madeAt).toISOString(),
      key: key.export().toString('base64url'),
    })),
  }
  return `${JSON.stringify(written, null, 2)}\n`
}

/** Null when it is not what `print` writes. */
function parse(text: string): KeySetSince | null {
  let written: Partial<Written>
  try {
    written = JSON.parse(text) as Partial<Written>
  } catch {
    return null
  }
  if (written?.version !== 1 || !Array.isArray(written.keys)) return null
  const keys: Key[] = []
  for (const entry of written.keys as Partial<Written['keys'][number]>[]) {
    const bytes = Buffer.from(String(entry?.key), 'base64url')
    const madeAt = Date.parse(String(entry?.madeAt))
    if (bytes.length !== KEY_BYTES || Number.isNaN(madeAt)) return null
    const key = new Key(bytes, madeAt)
    if (key.id !== entry.id) return null
    keys.push(key)
  }
  const sealsWith = keys.find(({ id }) => id === written.sealsWith)
  const since = Date.parse(String(written.sealsWithSince))
  return sealsWith && !Number.isNaN(since) ? { keys, sealsWith, since } : null
}

function statOf(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null
}

/** A new name survives a power cut only once its folder is synced. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown cause'
}
