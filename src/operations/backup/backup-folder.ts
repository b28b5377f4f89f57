import { lstatSync } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '../../core/refusals.ts'
import { sync } from './disk.ts'
import { type Manifest, readManifest } from './manifest.ts'

const NAME = /^nuncio-\d{4}-\d\d-\d\dT\d{6}Z$/
// The name begins with a dot, and the manifest is written last: an unfinished folder cannot be mistaken for a backup.
const UNFINISHED = /^\.nuncio-unfinished-(.+)-(\d+)-\d+$/
// A process that still writes into it has changed it since.
const FORSAKEN_AFTER_MS = 24 * 3_600_000

/** Sorts by time. */
export function backupName(at: number): string {
  return `nuncio-${new Date(at).toISOString().slice(0, 19).replaceAll(':', '')}Z`
}

/** Makes a folder to write into, beside the place of the backup. Removes what killed processes have left there. */
export async function openUnfinished(folder: string, at: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeForsaken(folder, at)
  const path = join(folder, `.nuncio-unfinished-${hostname()}-${process.pid}-${at}`)
  await mkdir(path, { mode: 0o700 })
  return path
}

/** Turns the folder into a backup in one step. Never replaces another one. */
export async function finish(unfinished: string, folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  if (lstatSync(path, { throwIfNoEntry: false })) throw exists(path)
  await sync(unfinished)
  await rename(unfinished, path).catch((error: unknown) => {
    throw error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY' ? exists(path) : error
  })
  await sync(folder)
  return path
}

function exists(path: string): Refusal {
  return new Refusal('backup_exists', `${path} is there already, and nothing is overwritten. Try again in a second.`)
}

export interface Pruned {
  readonly removed: readonly string[]
  /** The remaining backups whose name is a time in the future. */
  readonly fromFuture: readonly string[]
}

/**
 * Keeps the backup that was just made and the newest others of this installation, `keep` in all, and removes older ones. The new
 * one is kept even if others have later names, because a clock may have gone back. Anything else in the folder stays.
 */
export async function prune(made: string, keep: number | null, installation: string): Promise<Pruned> {
  const folder = dirname(made)
  const isOther = (name: string) => NAME.test(name) && name !== basename(made) && isOf(join(folder, name), installation)
  const others = (await readdir(folder)).filter(isOther).sort().reverse()
  const kept = others.slice(0, keep === null ? others.length : keep - 1)
  const old = others.slice(kept.length)
  for (const name of old) await remove(folder, name)
  const inFolder = (name: string) => join(folder, name)
  return { removed: old.map(inFolder), fromFuture: kept.filter((name) => name > basename(made)).map(inFolder) }
}

function isOf(path: string, installation: string): boolean {
  let manifest: Manifest
  try {
    manifest = readManifest(path)
  } catch {
    // Not surely ours: it stays for a person to check.
    return false
  }
  return manifest.installation === installation
}

/** Renamed first, so that a process which is killed halfway leaves nothing that could be mistaken for a backup. */
async function remove(folder: string, name: string): Promise<void> {
  const doomed = join(folder, `.nuncio-unfinished-${hostname()}-${process.pid}-${Date.parse(timeOf(name))}`)
  await rename(join(folder, name), doomed)
  await rm(doomed, { recursive: true, force: true })
}

function timeOf(name: string): string {
  return name.replace(/^nuncio-(.{13})(\d\d)(\d\d)Z$/, '$1:$2:$3Z')
}

async function removeForsaken(folder: string, at: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, host, pid] = UNFINISHED.exec(name) ?? []
    if (host === undefined) continue
    const path = join(folder, name)
    const isDead = host === hostname() && !isRunning(Number(pid))
    if (isDead || at - (await lastWritten(path)) > FORSAKEN_AFTER_MS) await rm(path, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function lastWritten(path: string): Promise<number> {
  if (!(await lstat(path)).isDirectory()) return Number.POSITIVE_INFINITY
  const files = [path, ...(await readdir(path)).map((name) => join(path, name))]
  return Math.max(...(await Promise.all(files.map(async (file) => (await stat(file)).mtimeMs))))
}
