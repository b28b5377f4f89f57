import type { DatabaseSync } from 'node:sqlite'
import type { AppliedMigration, BackupFacts } from '../../queries/verify/backup-facts.ts'

/** Reads what the manifest of a backup says. The database must be a copy that no process writes to. */
export function readBackupFacts(database: DatabaseSync): BackupFacts {
  const one = (sql: string) => database.prepare(sql).get()
  const count = (sql: string) => one(`select count(*) as rows from ${sql}`)?.['rows'] as number
  const checkpoint = one('select installation, mark, holds from checkpoint')
  const migrations = database.prepare('select number, name, breaking from migration order by number').all()
  return {
    installation: checkpoint?.['installation'] as string,
    mark: checkpoint?.['mark'] as number,
    holds: checkpoint?.['holds'] as number,
    migrations: migrations.map(
      ({ number, name, breaking }): AppliedMigration => ({
        number: number as number,
        name: name as string,
        breaking: breaking === 1,
      }),
    ),
    keyId: (one('select key_id from key_ring')?.['key_id'] as string | undefined) ?? null,
    counts: {
      accounts: count('account'),
      connections: count(`connection where state <> 'removed'`),
      tokens: count('token where deleted_at is null'),
      messages: count('message'),
      waiting: count('waiting'),
    },
  }
}
