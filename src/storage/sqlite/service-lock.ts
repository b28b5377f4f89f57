import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../core/refusals.ts'
import { storageTrouble, translateOpenError } from './sqlite-errors.ts'

/**
 * On SQLite one process serves. It holds an exclusive transaction on a small database of its own: the system frees
 * it when the process dies, however it dies, so there is no stale lock to remove by hand.
 */
export function takeServiceLock(path: string): { release(): void } {
  let database: DatabaseSync | null = null
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    database = new DatabaseSync(path, { timeout: 0 })
    database.exec('begin exclusive')
  } catch (error) {
    database?.close()
    if (storageTrouble(error) === 'busy') {
      throw new Refusal(
        'database_in_use',
        `Another Nuncio serves ${dirname(path)} already. Stop it first, or give this one a folder of its own with NUNCIO_DATA_DIR.`,
        null,
        { cause: error },
      )
    }
    throw translateOpenError(error, path)
  }
  const held = database
  return {
    release() {
      if (held.isOpen) held.close()
    },
  }
}
