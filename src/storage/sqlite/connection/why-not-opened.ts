import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

const { R_OK, W_OK, X_OK } = constants

/** Why this user cannot open a database, by its files and folders, and how to repair it. Null when nothing prevents it. */
export function whyNotOpened(path: string): string | null {
  const place = nearest(path)
  const found = statOf(place)
  if (!found) return null
  if (place !== path) return found.isDirectory() ? whyNotUsed(place, found) : noFolder(path, place)
  if (found.isDirectory())
    return `${path} is a folder, and must be a file. Move it away, or point NUNCIO_DATA_DIR at another folder.`
  // Its log and the index of that lie beside it, and may have been left by another user.
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
  return `${path} cannot be there, because ${place} is no folder. Point NUNCIO_DATA_DIR at another folder.`
}
