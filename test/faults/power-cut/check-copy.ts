import { DatabaseSync } from 'node:sqlite'

export interface CopyState {
  /** How many acknowledged rows are missing. */
  readonly lost: number
  readonly integrity: string
}

/** Opens the database after the cut, which recovers it, and searches for every acknowledged row. */
export function checkCopy(file: string, acked: readonly string[], idsQuery: string): CopyState {
  try {
    // If the file itself is lost, this creates an empty one: the query finds no table, and every row counts as lost.
    const database = new DatabaseSync(file)
    try {
      const found = new Set(
        database
          .prepare(idsQuery)
          .all()
          .map(({ id }) => String(id)),
      )
      const [check] = database.prepare('pragma integrity_check').all()
      return { lost: acked.filter((id) => !found.has(id)).length, integrity: String(check?.['integrity_check']) }
    } finally {
      database.close()
    }
  } catch (error) {
    return { lost: acked.length, integrity: error instanceof Error ? error.message : String(error) }
  }
}
