import { existsSync, statSync } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import packageFile from '../../../package.json' with { type: 'json' }
import { postgresEnvironment } from '../../config/child-environment.ts'
import type { Settings } from '../../config/read-settings.ts'
import { spoolFolder } from '../../server/wiring/spool-folder.ts'
import type { BackupFacts, BackupProgress } from '../../storage/queries/verify/backup-facts.ts'
import { backupName, finish, openUnfinished, type Pruned, prune } from './backup-folder.ts'
import { copyFile, digestFile, refuseTooLarge, sync, translateDiskError } from './disk.ts'
import {
  type BackupFile,
  MANIFEST_NAME,
  type Manifest,
  MEDIA_FOLDER,
  manifestText,
  POSTGRES_NAME,
  readManifest,
  SQLITE_NAME,
} from './manifest.ts'

export interface BackupRequest {
  readonly settings: Settings
  /** Where backups are kept. */
  readonly folder: string
  readonly withMedia: boolean
  /** How many backups of this installation stay there; null keeps all. */
  readonly keep: number | null
  readonly onProgress: (progress: BackupProgress) => void
  readonly now: () => number
}

export interface TakenBackup extends Pruned {
  readonly path: string
  readonly manifest: Manifest
  readonly tookMs: number
}

/**
 * Backs the installation up beside a running service. It writes into a temporary folder, which becomes the backup in the last
 * step, once all of it was read again and is on the disk.
 */
export async function takeBackup(request: BackupRequest): Promise<TakenBackup> {
  const folder = resolve(request.folder)
  const at = request.now()
  try {
    const unfinished = await openUnfinished(folder, at)
    try {
      await fill(unfinished, request, at)
      const path = await finish(unfinished, folder, backupName(at))
      const manifest = readManifest(path)
      const pruned = await prune(path, request.keep, manifest.installation)
      return { path, manifest, tookMs: request.now() - at, ...pruned }
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  } catch (error) {
    throw translateDiskError(error, 'Nothing was backed up')
  }
}

async function fill(folder: string, request: BackupRequest, at: number): Promise<void> {
  const { settings, withMedia } = request
  const { database } = settings
  const files: BackupFile[] = []
  const add = async (name: string) => {
    const path = join(folder, name)
    const of = statSync(path).size
    const onBytes = (done: number) => request.onProgress({ doing: 'reading', done, of })
    files.push({ name, ...(await digestFile(path, onBytes)) })
    await sync(path)
  }
  let facts: BackupFacts
  let server: Manifest['server'] = null
  if (database.engine === 'sqlite') {
    facts = await fillFromSqlite(join(folder, SQLITE_NAME), database.path, request)
    await add(SQLITE_NAME)
  } else {
    const { dumpDatabase } = await import('../../storage/postgres/transfer/dump-database.ts')
    const dumped = await dumpDatabase({
      url: database.migrateUrl,
      target: join(folder, POSTGRES_NAME),
      childEnvironment: postgresEnvironment,
      onProgress: request.onProgress,
    })
    facts = dumped.facts
    server = dumped.server
    await add(POSTGRES_NAME)
  }
  const mediaFrom = withMedia ? resolve(spoolFolder(settings)) : null
  if (mediaFrom !== null) files.push(...(await copyMedia(mediaFrom, folder)))
  const text = manifestText({
    engine: database.engine,
    version: packageFile.version,
    takenAt: new Date(at).toISOString(),
    ...facts,
    server,
    mediaFrom,
    files,
  })
  await writeWhole(join(folder, MANIFEST_NAME), text)
}

async function fillFromSqlite(target: string, path: string, { onProgress }: BackupRequest): Promise<BackupFacts> {
  const { copyOnline } = await import('../../storage/sqlite/transfer/copy-online.ts')
  if (existsSync(path)) {
    const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    await refuseTooLarge(dirname(target), statSync(path).size + logBytes)
  }
  return copyOnline({ path, target, onProgress })
}

/** Only whole files. One that goes meanwhile belongs to a message that has been settled. */
async function copyMedia(spool: string, folder: string): Promise<readonly BackupFile[]> {
  const files: BackupFile[] = []
  if (!existsSync(spool)) return files
  for (const entry of await readdir(spool, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.media')) continue
    const below = entry.parentPath.slice(spool.length + 1)
    const name = [MEDIA_FOLDER, ...(below === '' ? [] : [below]), entry.name].join('/')
    await mkdir(dirname(join(folder, name)), { recursive: true, mode: 0o700 })
    try {
      files.push({ name, ...(await copyFile(join(entry.parentPath, entry.name), join(folder, name), () => {})) })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  const folders = new Set(files.map(({ name }) => dirname(join(folder, name))))
  for (const one of [...folders, ...(folders.size > 0 ? [join(folder, MEDIA_FOLDER)] : [])]) await sync(one)
  return files
}

async function writeWhole(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
