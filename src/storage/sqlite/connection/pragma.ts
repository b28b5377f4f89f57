import type { DatabaseSync } from 'node:sqlite'

/** Reads a number that SQLite keeps about the database itself. */
export function pragma(
  database: DatabaseSync,
  name: 'application_id' | 'data_version' | 'page_count' | 'page_size' | 'synchronous' | 'user_version',
): number {
  return Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0] as number
}
