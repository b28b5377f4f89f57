import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Settings } from '../config/read-settings.ts'
import { sandboxMediaFolder } from './wiring/sandbox-media.ts'
import { spoolFolder } from './wiring/spool-folder.ts'

const OTHERS = 0o077

/**
 * Makes files private that a copy, an older version or a person has left readable for other users of this machine. A readable
 * database shows all messages, and a user who may lock its `-shm` can stop every send. The mode of the data folder itself
 * stays.
 */
export async function makeFilesPrivate(paths: readonly string[], logger: Logger): Promise<void> {
  const found: string[] = []
  for (const path of paths) await makePrivate(path, found)
  if (found.length === 0) return
  logger.warn(
    { files: found.length, first: found[0] },
    'Other users of this machine could use files of Nuncio. From now on only its own user can.',
  )
}

/** Before a start: an open key ring is refused. */
export async function filesBesideDatabase(settings: Settings): Promise<string[]> {
  const { dataDir, keyRingFile } = settings
  const names = await readdir(dataDir).catch(() => [])
  const ours = names.filter((name) => /^(keys|remembered\.json.*|setup-link|replaced-.*)$/.test(name))
  return [keyRingFile, ...ours.map((name) => join(dataDir, name)), spoolFolder(settings), sandboxMediaFolder(settings)]
}

/** After a start: a database that is refused stays as it was. */
export function filesOfDatabase({ database }: Settings): string[] {
  if (database.engine !== 'sqlite') return []
  const lock = join(database.path, '../service.lock')
  return [database.path, lock].flatMap((path) => ['', '-wal', '-shm', '-journal'].map((end) => path + end))
}

/**
 * Notes in `found` what it has changed. Files of another owner and on a read-only disk stay as they are: the code that uses
 * them reports the problem.
 */
async function makePrivate(path: string, found: string[]): Promise<void> {
  const stats = await lstat(path).catch(() => null)
  if (!stats || stats.uid !== process.geteuid?.() || !(stats.isFile() || stats.isDirectory())) return
  // No other user reaches the content of a private folder.
  if ((stats.mode & OTHERS) === 0) return
  await chmod(path, stats.mode & ~OTHERS & 0o7777).then(
    () => found.push(path),
    () => {},
  )
  if (!stats.isDirectory()) return
  for (const name of await readdir(path).catch(() => [])) await makePrivate(join(path, name), found)
}
