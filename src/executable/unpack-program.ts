import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { cannotWrite } from './cache-folder.ts'

// Part of the names of unfinished folders.
const ASIDE = '.new-'
// Unpacking takes seconds, so a start with an unfinished folder of this age was killed.
const LEFT_BEHIND_AFTER_MS = 3_600_000

/** A file by its path and size in bytes. */
export type PackedFile = readonly [path: string, size: number]

/** The program as the executable carries it. */
export interface PackedProgram {
  /** The name of the folder that it is unpacked to: the version, and a hash of all files. */
  readonly name: string
  readonly files: readonly PackedFile[]
  /** What is in the files, one after the other. */
  readonly read: () => Uint8Array
}

/** Where the program lies below the cache folder, unpacked unless it is there. */
export function unpackProgram(program: PackedProgram, cache: string): string {
  const folder = join(cache, program.name)
  removeLeftBehind(cache)
  if (isWhole(folder, program)) return folder
  try {
    // Unpacked into another folder first, so that an unfinished program is never run.
    const aside = mkdtempSync(folder + ASIDE)
    try {
      writeFiles(aside, program)
      putInPlace(aside, folder, program)
    } finally {
      rmSync(aside, { recursive: true, force: true })
    }
  } catch (error) {
    // Another process may have put the whole folder in place.
    if (!isWhole(folder, program)) throw cannotWrite(cache, error)
  }
  return folder
}

/** Removes folders of killed starts. A younger folder may belong to a start that is still unpacking. */
function removeLeftBehind(cache: string): void {
  try {
    for (const name of readdirSync(cache)) {
      const folder = join(cache, name)
      if (name.includes(ASIDE) && lstatSync(folder).mtimeMs < Date.now() - LEFT_BEHIND_AFTER_MS)
        rmSync(folder, { recursive: true, force: true })
    }
  } catch {
    // A leftover folder only takes space. Another start may have just removed it.
  }
}

/** Cleaners of temporary folders remove files, and failing disks truncate them. */
function isWhole(folder: string, { files }: PackedProgram): boolean {
  return files.every(([path, size]) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.size === size)
}

function writeFiles(folder: string, { files, read }: PackedProgram): void {
  const bytes = read()
  let start = 0
  for (const [path, size] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    // Flushed: otherwise a power cut could leave the finished folder with empty files.
    writeFileSync(file, bytes.subarray(start, start + size), { flag: 'wx', mode: 0o600, flush: true })
    start += size
  }
}

/** Fails if another process has put a whole one in place meanwhile. */
function putInPlace(aside: string, folder: string, program: PackedProgram): void {
  const damaged = `${aside}-damaged`
  if (existsSync(folder) && !isWhole(folder, program)) renameSync(folder, damaged)
  renameSync(aside, folder)
  rmSync(damaged, { recursive: true, force: true })
}
