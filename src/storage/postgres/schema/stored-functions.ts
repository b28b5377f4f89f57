import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import packageFile from '../../../../package.json' with { type: 'json' }
import { assetPath } from '../../../assets/asset-path.ts'
import type { Query } from '../connection/pg-connection.ts'

/** All of functions/*.sql as one text, and the version of Nuncio that brings it. */
export interface StoredFunctions {
  readonly version: string
  readonly hash: string
  readonly sql: string
}

export function readFunctions(): StoredFunctions {
  const folder = assetPath('src/storage/postgres/functions')
  const sql = readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
  return { version: packageFile.version, hash: hash('sha256', sql), sql }
}

/** An older version leaves the functions of a newer one in place: both must run on them. */
export async function mustBeApplied(query: Query, ours: StoredFunctions): Promise<boolean> {
  const [applied] = (await query('select version, hash from applied_functions')) as unknown as StoredFunctions[]
  return !applied || (applied.hash !== ours.hash && !isBefore(ours.version, applied.version))
}

export async function recordFunctions(query: Query, { version, hash }: StoredFunctions): Promise<void> {
  await query(
    `insert into applied_functions ("only", version, hash) values (1, $1, $2)
       on conflict ("only") do update set version = excluded.version, hash = excluded.hash`,
    [version, hash],
  )
}

/** By the three numbers. What follows them, such as `-rc.1`, does not count. */
function isBefore(version: string, other: string): boolean {
  const [ours, theirs] = [version, other].map((text) => text.split('-')[0]?.split('.').map(Number) ?? [])
  const at = ours?.findIndex((number, index) => number !== theirs?.[index]) ?? -1
  return at >= 0 && (ours?.[at] ?? 0) < (theirs?.[at] ?? 0)
}
