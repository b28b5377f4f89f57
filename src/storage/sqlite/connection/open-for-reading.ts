import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import type { SecretStore } from '../../../core/ports/secrets.ts'
import { createSecretStore } from '../../queries/secrets/secret-store.ts'
import type { Store } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { sqliteEngine } from '../queries/administration-engine.ts'
import { createSqliteDialect } from './kysely-dialect.ts'
import { translateOpenError } from './sqlite-errors.ts'

interface OpenForReading {
  readonly store: Store
  readonly secretStore: SecretStore
  close(): void
}

/** A database that must stay as it is, byte for byte, such as that of a backup. */
export function openForReading(path: string): OpenForReading {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(database) })
    const store = { database: kysely, engine: sqliteEngine, now: () => 0 }
    return { store, secretStore: createSecretStore(store), close: () => database.close() }
  } catch (error) {
    throw translateOpenError(error, path)
  }
}
