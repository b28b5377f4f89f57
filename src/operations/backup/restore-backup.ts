import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'
import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import { KeyRing } from '../../secrets/key-ring.ts'
import { KeyRingFile } from '../../secrets/key-ring-file.ts'
import { spoolFolder } from '../../server/wiring/spool-folder.ts'
import { type Checkpoint, CheckpointFile, readable } from '../../storage/queries/checkpoint.ts'
import { newestOf } from '../../storage/queries/migrations.ts'
import type { AppliedMigration, MovedMedia, RestoredHold } from '../../storage/queries/verify/backup-facts.ts'
import { translateDiskError } from './disk.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { readKnownMigrations } from './read-known-migrations.ts'
import { restoreMedia } from './restore-media.ts'
import type { Put, Putting, Restored, RestoreRequest } from './restore-request.ts'

/**
 * Brings a backup back, with all lanes held in the database itself (G12). Everything is checked before anything is
 * changed, and the change is one step.
 */
export async function restoreBackup(request: RestoreRequest): Promise<Restored> {
  const { settings, now, withoutSecrets } = request
  const folder = resolve(request.from)
  const { engine } = settings.database
  const manifest = readManifest(folder)
  refuseOtherEngine(manifest, engine)
  refuseNewer(manifest, await readKnownMigrations(manifest))
  if (!withoutSecrets) refuseOtherKeys(manifest, settings.keyRingFile)
  const at = now()
  const reason = `it was restored from the backup of ${manifest.takenAt.slice(0, 16).replace('T', ' ')} UTC and knows nothing of what was sent since`
  const file = CheckpointFile.in(settings.dataDir)
  const memory = file.read()
  const remembered = readable(memory)
  try {
    const media = await bringMedia({ manifest, folder, settings, request })
    const hold: RestoredHold = { reason, at, withoutSecrets, media, holdsRemembered: holdsOf(remembered, manifest) }
    const stamp = new Date(at).toISOString().slice(0, 19).replaceAll(':', '')
    const past = { holds: manifest.holds, remembered: memory }
    const put = await putBack({ manifest, folder, request, hold, past, stamp }, engine)
    return { manifest, reason, ...put, livedUntil: livedUntil(file.path, remembered, manifest) }
  } catch (error) {
    throw translateDiskError(error, 'Nothing was restored')
  }
}

async function putBack(putting: Putting, engine: Manifest['engine']): Promise<Put> {
  if (engine === 'sqlite') {
    const { putSqlite } = await import('./put-sqlite.ts')
    return putSqlite(putting)
  }
  const { putPostgres } = await import('./put-postgres.ts')
  return putPostgres(putting)
}

function refuseOtherEngine({ engine }: Manifest, ours: Manifest['engine']): void {
  if (engine === ours) return
  const [is, wants] = engine === 'sqlite' ? ['SQLite', 'PostgreSQL'] : ['PostgreSQL', 'SQLite']
  throw new Refusal(
    'backup_unusable',
    engine === 'sqlite'
      ? `The backup is of ${is}, and NUNCIO_DATABASE_URL names ${wants}. Restore it without that setting, and move it over with ${commandLine`copy`}.`
      : `The backup is of ${is}: name the database that it goes into with NUNCIO_DATABASE_URL=postgres://…`,
  )
}

/** Even if older code could run on its tables: this code does not know what belongs into them. */
function refuseNewer({ migrations, version }: Manifest, known: readonly AppliedMigration[]): void {
  const newer = migrations.find(({ number }) => number > newestOf(known))
  if (!newer) return
  throw new Refusal(
    'database_newer',
    `The backup was made by a newer version of Nuncio (${version}, ${newer.name}). Restore it with that version, or take an older backup.`,
  )
}

function refuseOtherKeys({ keyId }: Manifest, path: string): void {
  if (keyId === null) return
  const file = new KeyRingFile(path)
  const lost =
    'If no copy of it is left anywhere, add --without-secrets: then the secrets of connections and second factors are lost and must be set anew.'
  if (!file.exists()) {
    throw new Refusal(
      'key_ring_missing',
      `There is no key ring at ${path}, and the secrets in the backup are sealed with its key ${keyId}. Put the copy of the key ring there first. ${lost}`,
    )
  }
  if (new KeyRing(file).keys.keys.some(({ id }) => id === keyId)) return
  throw new Refusal(
    'key_ring_foreign',
    `The key ring ${path} lacks the key ${keyId}, which the secrets in the backup are sealed with. Put the copy of the key ring there that is as old as the backup. ${lost}`,
  )
}

/** The checkpoint of another installation says nothing about this one. */
function holdsOf(remembered: Checkpoint | null, { installation }: Manifest): number {
  return remembered?.installation === installation ? remembered.holds : 0
}

function livedUntil(path: string, remembered: Checkpoint | null, manifest: Manifest): number | null {
  if (remembered?.installation !== manifest.installation) return null
  if (remembered.holds === manifest.holds && remembered.mark <= manifest.mark) return null
  // The file is written with every heartbeat, so its time is about when the service last ran.
  return existsSync(path) ? statSync(path).mtimeMs : null
}

interface Bringing {
  readonly manifest: Manifest
  readonly folder: string
  readonly settings: Settings
  readonly request: RestoreRequest
}

async function bringMedia({ manifest, folder, settings, request }: Bringing): Promise<MovedMedia | null> {
  if (manifest.mediaFrom === null) return null
  const to = resolve(spoolFolder(settings))
  await restoreMedia({ manifest, folder, to, onProgress: request.onProgress })
  return { from: manifest.mediaFrom, to }
}
