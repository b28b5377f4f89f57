import { lstatSync } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../../core/refusals.ts'
import { sync } from './disk.ts'
import { type Manifest, readManifest } from './manifest.ts'

const NAME = /^nuncio-\d{4}-\d\d-\d\dT\d{6}Z$/
// It begins with a dot and has no manifest before all else is in it: nobody can take it for a backup.
const UNFINISHED = /^\.nuncio-unfinished-(.+)-(\d+)-\d+$/
// Whoever still writes into it has done so since.
const FORSAKEN_AFTER_MS = 24 * 3_600_000

/** Sorts as the moments do. */
export function backupName(at: number): string {
  return `nuncio-${new Date(at).toISOString().slice(0, 19).replaceAll(':', '')}Z`
}

/** A folder to write into, beside where the backup will lie. What earlier ones left behind when they were killed goes. */
export async function openUnfinished(folder: string, at: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeForsaken(folder, at)
  const path = join(folder, `.nuncio-unfinished-${hostname()}-${process.pid}-${at}`)
  await mkdir(path, { mode: 0o700 })
  return path
}

/** From here on it is a backup, at once and as a whole. Never in the place of another. */
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

/** Keeps the newest backups of this installation, and removes older ones. Whatever else lies there stays. */
export async function prune(folder: string, keep: number, installation: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name) && isOf(join(folder, name), installation))
  const old = names.sort().reverse().slice(keep)
  for (const name of old) await remove(folder, name)
  return old.map((name) => join(folder, name))
}

function isOf(path: string, installation: string): boolean {
  let manifest: Manifest
  try {
    manifest = readManifest(path)
  } catch {
    // Not one that we know to be ours: it stays for a person to look at.
    return false
  }
  return manifest.installation === installation
}

/** Renamed first: killed half-way, nothing is left that looks like a backup. */
async function remove(folder: string, name: string): Promise<void> {
  const doomed = join(folder, `.nuncio-unfinished-${hostname()}-${process.pid}-${Date.parse(momentOf(name))}`)
  await rename(join(folder, name), doomed)
  await rm(doomed, { recursive: true, force: true })
}

function momentOf(name: string): string {
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
