import { DatabaseSync } from 'node:sqlite'

export interface CopyState {
  /** How many of the acknowledged rows are not there. */
  readonly lost: number
  readonly integrity: string
}

/** Opens the database as it lies after the cut, which recovers it, and searches it for every acknowledged row. */
export function checkCopy(file: string, acked: readonly string[], idsQuery: string): CopyState {
  try {
    // Where the file itself is gone, this makes an empty one: the query then finds no table, and all counts as lost.
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
