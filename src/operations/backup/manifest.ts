import { hash } from 'node:crypto'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { AppliedMigration, BackupCounts, BackupFacts } from '../../storage/queries/verify/backup-facts.ts'

export const MANIFEST_NAME = 'manifest.json'
export const SQLITE_NAME = 'nuncio.db'
export const POSTGRES_NAME = 'nuncio.dump'
export const MEDIA_FOLDER = 'spool'

// Raised when an older version could not read what is written. A reader refuses what it does not know.
const FORMAT = 1
// Far larger than any manifest of ours.
const LARGEST_BYTES = 256 * 1024 * 1024

export interface BackupFile {
  /** Below the folder of the backup. */
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

/** The file in each backup that describes its data. */
export interface Manifest extends BackupFacts {
  readonly format: number
  readonly engine: 'sqlite' | 'postgres'
  /** The version of Nuncio that made it. */
  readonly version: string
  /** The moment whose state the backup has, or a little before it. */
  readonly takenAt: string
  /** The versions of the PostgreSQL server and of pg_dump. Null on SQLite. */
  readonly server: { readonly version: string; readonly dumpedBy: string; readonly schema: string } | null
  /** The folder that the fetched media came from; null when they are not in the backup. */
  readonly mediaFrom: string | null
  readonly files: readonly BackupFile[]
}

/** Its last field is the checksum of all others: a single letter that changes is noticed. */
export function manifestText(manifest: Omit<Manifest, 'format'>): string {
  const sealed = { format: FORMAT, ...manifest }
  return `${JSON.stringify({ ...sealed, sha256: hash('sha256', JSON.stringify(sealed)) }, null, 2)}\n`
}

/** Refuses with `backup_unusable`, and says why. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST_NAME)
  const value = parseManifest(path, readText(path, folder))
  const { sha256, ...sealed } = value
  if (value['format'] !== FORMAT && typeof value['format'] === 'number') {
    throw new Refusal(
      'backup_unusable',
      `${folder} was made by another version of Nuncio (${String(value['version'])}), which writes backups otherwise. Restore it with that version.`,
    )
  }
  if (sha256 !== hash('sha256', JSON.stringify(sealed)) || !isManifest(sealed)) {
    throw new Refusal(
      'backup_unusable',
      `${path} was changed or is damaged, so the backup is not used. Take another one.`,
    )
  }
  return sealed
}

function readText(path: string, folder: string): string {
  try {
    // Checked before it is read: an untrusted backup may hold anything there.
    const found = lstatSync(path)
    if (found.isFile() && found.size <= LARGEST_BYTES) return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw new Refusal(
      'backup_unusable',
      code === 'ENOENT' || code === 'ENOTDIR'
        ? `${folder} is no backup: it has no ${MANIFEST_NAME}. Name the folder that ${commandLine`backup`} made, such as nuncio-2026-11-22T001205Z.`
        : `${path} cannot be read (${code}). Check its permissions, and whether the disk is sound.`,
      null,
      { cause: error },
    )
  }
  throw new Refusal('backup_unusable', `${path} is no file, or too large for what it should be. Take another backup.`)
}

function parseManifest(path: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // The same sentence as for any other file that is no manifest.
  }
  throw new Refusal('backup_unusable', `${path} is damaged: it is no JSON object. Take another backup.`)
}

/** A manifest with a matching checksum may still hold nonsense. */
function isManifest(value: object): value is Manifest {
  const { engine, version, takenAt, server, mediaFrom, files, installation, mark, holds, migrations, keyId, counts } =
    value as Partial<Manifest>
  return (
    (engine === 'sqlite' || engine === 'postgres') &&
    [version, takenAt, installation].every((text) => typeof text === 'string') &&
    Number.isFinite(Date.parse(takenAt ?? '')) &&
    [mark, holds].every(isCount) &&
    (keyId === null || typeof keyId === 'string') &&
    (mediaFrom === null || typeof mediaFrom === 'string') &&
    (engine === 'sqlite' ? server === null : typeof server?.schema === 'string') &&
    Array.isArray(files) &&
    files.every(isFile) &&
    files.some(({ name }) => name === (engine === 'sqlite' ? SQLITE_NAME : POSTGRES_NAME)) &&
    Array.isArray(migrations) &&
    migrations.every(isMigration) &&
    isCounts(counts)
  )
}

function isFile({ name, bytes, sha256 }: Partial<BackupFile>): boolean {
  // Never a way out of the folder, whatever the manifest says.
  const isBelow = typeof name === 'string' && /^[\w-]+(\.[\w-]+)*(\/[\w-]+(\.[\w-]+)*)*$/.test(name)
  return isBelow && isCount(bytes) && /^[0-9a-f]{64}$/.test(sha256 ?? '')
}

function isMigration({ number, name, breaking }: Partial<AppliedMigration>): boolean {
  return isCount(number) && typeof name === 'string' && typeof breaking === 'boolean'
}

function isCounts(counts: BackupCounts | undefined): boolean {
  const { accounts, connections, tokens, messages, waiting } = (counts ?? {}) as Partial<BackupCounts>
  return [accounts, connections, tokens, messages, waiting].every(isCount)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
