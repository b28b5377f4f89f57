import { join, resolve } from 'node:path'
import { postgresEnvironment } from '../../config/child-environment.ts'
import { Refusal } from '../../core/refusals.ts'
import { newestOf } from '../../storage/queries/migrations.ts'
import type { AppliedMigration } from '../../storage/queries/verify/backup-facts.ts'
import { Findings } from '../../storage/queries/verify/findings.ts'
import { checkFile } from '../backup/check-file.ts'
import { translateDiskError } from '../backup/disk.ts'
import { type Manifest, POSTGRES_NAME, readManifest, SQLITE_NAME } from '../backup/manifest.ts'
import { readKnownMigrations } from '../backup/read-known-migrations.ts'
import { type Verified, verifyContents } from './verify-contents.ts'
import type { VerifyRequest } from './verify-request.ts'

/** Reads every file of a backup, and checks its database as far as that can be done where it lies. */
export async function verifyBackup(request: VerifyRequest, from: string): Promise<Omit<Verified, 'tookMs'>> {
  const folder = resolve(from)
  const manifest = readManifest(folder)
  const known = await readKnownMigrations(manifest)
  const findings = new Findings()
  try {
    for (const file of manifest.files)
      await checkFile(folder, file, ({ done }) => request.onProgress({ doing: `bytes of ${file.name}`, rows: done }))
  } catch (error) {
    throw translateDiskError(error, 'The backup cannot be read')
  }
  if (manifest.engine === 'postgres') return verifyDump(folder, manifest, findings)
  return verifyCopy(request, { folder, manifest, known, findings })
}

interface Copy {
  readonly folder: string
  readonly manifest: Manifest
  readonly known: readonly AppliedMigration[]
  readonly findings: Findings
}

async function verifyCopy(
  { settings, onProgress }: VerifyRequest,
  { folder, manifest, known, findings }: Copy,
): Promise<Omit<Verified, 'tookMs'>> {
  const [{ openForReading }, { refuseOtherSchema }, { sqliteVerifyEngine }] = await Promise.all([
    import('../../storage/sqlite/connection/open-database.ts'),
    import('../../storage/sqlite/transfer/restored-database.ts'),
    import('../../storage/sqlite/safety/verify-engine.ts'),
  ])
  if (newestOf(manifest.migrations) !== newestOf(known)) {
    findings.add(
      'not_checked',
      `The backup is of version ${manifest.version}, so only its files were read. Restore it, and verify that.`,
    )
    return { place: folder, messages: manifest.counts.messages, findings: findings.all }
  }
  refuseOtherSchema(join(folder, SQLITE_NAME))
  const copy = openForReading(join(folder, SQLITE_NAME))
  try {
    const { store, secretStore } = copy
    const engine = sqliteVerifyEngine({ isCopy: true })
    const { keyRingFile } = settings
    // What is in its spool was read already, by its checksums.
    const contents = { store, secretStore, engine, keyRingFile, spool: null, isServed: false, onProgress }
    const verified = await verifyContents(contents, findings)
    if (verified.messages !== manifest.counts.messages) throw otherCounts(verified.messages, manifest)
    return { place: folder, ...verified }
  } finally {
    copy.close()
  }
}

function otherCounts(found: number, { counts }: Manifest): Refusal {
  return new Refusal(
    'backup_unusable',
    `There are ${found} messages in the backup, and its manifest says ${counts.messages}. Take another backup.`,
  )
}

async function verifyDump(folder: string, manifest: Manifest, findings: Findings): Promise<Omit<Verified, 'tookMs'>> {
  const { readDump } = await import('../../storage/postgres/transfer/dump-database.ts')
  await readDump({
    dump: join(folder, POSTGRES_NAME),
    dumpedBy: manifest.server?.dumpedBy ?? '',
    childEnvironment: postgresEnvironment,
  })
  findings.add(
    'not_checked',
    'A dump of PostgreSQL can be read through, but not looked into. For that restore it into an empty database, and verify that.',
  )
  return { place: folder, messages: manifest.counts.messages, findings: findings.all }
}
