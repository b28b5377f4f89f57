import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { AppliedMigration } from './verify/backup-facts.ts'

export interface Migration extends AppliedMigration {
  readonly sql: string
}

/** The baseline, as migration 1, and the migrations after it. `folder` is that of the engine. */
export function readMigrationsIn(folder: string): readonly Migration[] {
  const schema = readFileSync(join(folder, 'schema.sql'), 'utf8')
  const baseline = { number: 1, name: `baseline-${fingerprintOf(schema)}`, sql: schema, breaking: false }
  const later = readdirSync(join(folder, 'migrations'))
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(folder, 'migrations', file), 'utf8')
      return {
        number: Number(file.slice(0, 4)),
        name: file.slice(5, -4),
        sql,
        breaking: /^-- breaking: yes$/m.test(sql),
      }
    })
  return [baseline, ...later]
}

/** Comments and white space do not count, so that they can be edited while databases of the same baseline exist. */
export function fingerprintOf(sql: string): string {
  const statements = sql.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()
  return hash('sha256', statements).slice(0, 12)
}

export function newestOf(migrations: readonly AppliedMigration[]): number {
  return migrations.at(-1)?.number ?? 0
}

/** Whether these tables were made from our baseline, or there are none yet. */
export function hasOurBaseline(applied: readonly AppliedMigration[], known: readonly AppliedMigration[]): boolean {
  return applied.length === 0 || applied[0]?.name === known[0]?.name
}

/** How the sentence of `changedSchema` begins. */
export const CHANGED_SCHEMA = 'The tables of this backup are not those of Nuncio'

/** The refusal of a backup with a changed schema. `object` is what differs, with its article. */
export function changedSchema(object: string): string {
  return `${CHANGED_SCHEMA}: ${object} was added, changed or taken away. Nothing of it is used. Take another one.`
}

/** `instead` says where an empty database comes from. */
export function refuseOtherBaseline(place: string, instead: string): never {
  throw new Refusal(
    'database_unsupported',
    `The database at ${place} was made by a version of Nuncio from before the first release, and this version cannot bring it up to date. ${instead}, or run the version that made it.`,
  )
}

/** For commands, which do not change the schema. */
export function refuseUnprepared(
  applied: readonly AppliedMigration[],
  known: readonly AppliedMigration[],
  place: string,
): void {
  if (applied.length === 0) {
    throw new Refusal(
      'database_unavailable',
      `There is nothing in the database at ${place} yet. Start the service once: ${commandLine`serve`}`,
    )
  }
  if (newestOf(applied) < newestOf(known)) refuseOlder(place)
}

export function refuseOlder(place: string): never {
  throw new Refusal(
    'database_unavailable',
    `The database at ${place} is of an older version. Bring it up to date: ${commandLine`migrate`}`,
  )
}

/** Newer migrations are accepted unless one of them says that older code must not run on its result. */
export function refuseNewer(
  applied: readonly AppliedMigration[],
  known: readonly AppliedMigration[],
  place: string,
): void {
  const breaking = findNewerBreaking(applied, known)
  if (!breaking) return
  throw new Refusal(
    'database_newer',
    `The database at ${place} was changed by a newer version of Nuncio (${breaking.name}). Run that version, or restore a backup made before the upgrade.`,
  )
}

function findNewerBreaking(
  applied: readonly AppliedMigration[],
  known: readonly AppliedMigration[],
): AppliedMigration | undefined {
  return applied.find(({ number, breaking }) => number > newestOf(known) && breaking)
}
