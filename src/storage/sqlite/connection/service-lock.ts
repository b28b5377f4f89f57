import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../../core/refusals.ts'
import { storageError, translateOpenError } from './sqlite-errors.ts'

/**
 * On SQLite one process serves. It holds an exclusive transaction on a small database of its own: the system frees
 * it when the process dies, however it dies, so there is no stale lock to remove by hand.
 */
export function takeServiceLock(path: string): { release(): void } {
  let database: DatabaseSync | null = null
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('begin exclusive')
  } catch (error) {
    database?.close()
    if (storageError(error) === 'busy') {
      throw new Refusal(
        'database_in_use',
        `Another Nuncio serves ${dirname(path)} already. Stop it first, or give this one a folder of its own with NUNCIO_DATA_DIR.`,
        null,
        { cause: error },
      )
    }
    throw translateOpenError(error, path)
  }
  const held = database
  return {
    release() {
      if (held.isOpen) held.close()
    },
  }
}

/** The process that holds that lock; null when none does, or when it cannot be found: on another machine, or not on Linux. */
export function findServiceHolder(path: string): number | null {
  try {
    return findLockHolder(readFileSync('/proc/locks', 'utf8'), statSync(path))
  } catch {
    return null
  }
}

/**
 * The process that holds a lock on a file, from the text of /proc/locks; null when none does. It does not try to lock the
 * file, because that could keep a service from starting for an instant.
 */
export function findLockHolder(locks: string, file: { readonly ino: number }): number | null {
  // 1: POSIX  ADVISORY  WRITE 1234 08:01:5678 1073741824 1073741825
  const held = locks
    .split('\n')
    .map((line) => /^\d+: \S+ +\S+ +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line))
    .find((found) => found !== null && Number(found[2]) === file.ino)
  return held ? Number(held[1]) : null
}
