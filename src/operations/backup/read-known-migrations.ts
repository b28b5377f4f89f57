import { Refusal } from '../../core/refusals.ts'
import { hasOurBaseline, type Migration } from '../../storage/queries/migrations.ts'
import type { Manifest } from './manifest.ts'

/** The migrations that we know for the engine of a backup. Refuses a backup whose tables come from another baseline. */
export async function readKnownMigrations({ engine, migrations, version }: Manifest): Promise<readonly Migration[]> {
  const { readMigrations } =
    engine === 'sqlite'
      ? await import('../../storage/sqlite/schema/migrate.ts')
      : await import('../../storage/postgres/schema/migrate.ts')
  const known = readMigrations()
  if (hasOurBaseline(migrations, known)) return known
  throw new Refusal(
    'backup_unusable',
    `The backup was made by a version of Nuncio from before the first release (${version}), whose tables this version cannot bring up to date. Restore it with the version that made it.`,
  )
}
