import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '../../../core/refusals.ts'
import { explainErrno } from '../../../core/system-errors.ts'

/** Primary result codes of SQLite, and one extended one (https://sqlite.org/rescode.html). */
const CODES = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
} as const
/** Making room for the shared-memory index failed, which is how a full disk shows. */
const IO_ERROR_SHM_SIZE = 4874

const WRITING: readonly number[] = [CODES.readOnly, CODES.cantOpen]

/** System codes of a full disk, for other files than the database. */
const NO_ROOM = ['ENOSPC', 'EDQUOT']

export type StorageError = 'busy' | 'full' | 'broken'

function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

/**
 * What a failed statement says about storage, or null when only the statement itself was wrong. `busy` and `full` are temporary;
 * `broken` means that the disk or the file can no longer be trusted.
 */
export function storageError(error: unknown): StorageError | null {
  const code = resultCode(error)
  if (code === null) return null
  if (code === IO_ERROR_SHM_SIZE) return 'full'
  switch (code & 0xff) {
    case CODES.busy:
    case CODES.locked:
      return 'busy'
    case CODES.full:
      return 'full'
    case CODES.ioError:
    case CODES.corrupt:
    case CODES.notADatabase:
    case CODES.readOnly:
    case CODES.cantOpen:
      return 'broken'
    default:
      return null
  }
}

/** The same for people, in half a sentence. */
export function whyNotWritten(error: unknown): string {
  const code = (resultCode(error) ?? 0) & 0xff
  const systemCode = systemCodeOf(error)
  if (storageError(error) === 'full' || (systemCode !== null && NO_ROOM.includes(systemCode))) return 'the disk is full'
  if (storageError(error) === 'busy') return 'another program holds the database'
  if (code === CODES.readOnly || systemCode === 'EROFS') return 'the disk is mounted read-only'
  if (code === CODES.ioError || systemCode === 'EIO') return 'the disk reported an error'
  if (code === CODES.corrupt || code === CODES.notADatabase) return 'the database is damaged'
  return 'the database cannot be written'
}

/** Whether the error concerns the target of a copy: no space, or no permission. */
export function concernsCopyTarget(error: unknown): boolean {
  const code = resultCode(error)
  return storageError(error) === 'full' || (code !== null && WRITING.includes(code & 0xff))
}

/** Whether SQLite refused the statement itself, so a retry would fail too. */
export function isRefusedStatement(error: unknown): error is Error {
  return resultCode(error) !== null && storageError(error) === null
}

/** Turns what opening a database threw into a sentence for the operator. Refusals and faults pass unchanged. */
export function translateOpenError(error: unknown, path: string): unknown {
  if (error instanceof Refusal) return error
  const cause = { cause: error }
  const unavailable = (sentence: string) => new Refusal('database_unavailable', sentence, null, cause)
  const systemCode = systemCodeOf(error)
  const code = resultCode(error)
  if (code === null && systemCode === null) return error
  if (storageError(error) === 'full' || (systemCode !== null && NO_ROOM.includes(systemCode)))
    return unavailable(`There is no room left on the disk of ${path}. Nothing was changed: make room and try again.`)
  switch (code === null ? null : code & 0xff) {
    case CODES.notADatabase:
      return new Refusal(
        'database_foreign',
        `${path} is not a database, or its first page is damaged. Restore a backup, or point NUNCIO_DATA_DIR at another folder.`,
        null,
        cause,
      )
    case CODES.corrupt:
      return damaged(path, error)
    case CODES.busy:
      return unavailable(`${path} is held by another program. Try again in a moment.`)
    default: {
      const explained = systemCode === null ? null : explainErrno(systemCode, path)
      const named = systemCode ?? `SQLite code ${String(code)}`
      const vague = `${path} cannot be opened (${named}). Check the disk, the folder and its permissions.`
      return unavailable(whyNotOpened(path) ?? explained ?? vague)
    }
  }
}

function systemCodeOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^E[A-Z]+$/.test(code) ? code : null
}

export function damaged(path: string, cause?: unknown): Refusal {
  const sentence = `${path} is damaged. Keep a copy of the folder, then restore a backup; nothing was changed.`
  return new Refusal('database_damaged', sentence, null, { cause })
}

const { R_OK, W_OK, X_OK } = constants

/** Why this user cannot open a database, by its files and folders, and how to repair it. Null when nothing prevents it. */
export function whyNotOpened(path: string): string | null {
  const place = nearest(path)
  const found = statOf(place)
  if (!found) return null
  if (place !== path) return found.isDirectory() ? whyNotUsed(place, found) : noFolder(path, place)
  if (found.isDirectory())
    return `${path} is a folder, and must be a file. Move it away, or point NUNCIO_DATA_DIR at another folder.`
  // The -wal and -shm files lie beside it, and may have been left by another user.
  for (const file of [path, `${path}-wal`, `${path}-shm`, dirname(path)]) {
    const there = statOf(file)
    const why = there ? whyNotUsed(file, there) : null
    if (why !== null) return why
  }
  return null
}

/** The longest part of the path that exists and can be read. */
function nearest(path: string): string {
  let place = path
  while (!statOf(place) && place !== dirname(place)) place = dirname(place)
  return place
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function whyNotUsed(place: string, found: Stats): string | null {
  try {
    accessSync(place, found.isDirectory() ? W_OK | X_OK : R_OK | W_OK)
    return null
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    return code === 'EROFS'
      ? `The disk of ${place} is mounted read-only. Mount it so that it can be written, or point NUNCIO_DATA_DIR at another folder.`
      : `This user (${String(process.geteuid?.())}) may not write to ${place}, which belongs to the user ${found.uid} (mode ${(found.mode & 0o777).toString(8)}). Run it as the user that runs Nuncio; if that is this one, give it the right with chown or chmod.`
  }
}

function noFolder(path: string, place: string): string {
  return `${path} cannot be there, because ${place} is not a folder. Point NUNCIO_DATA_DIR at another folder.`
}
