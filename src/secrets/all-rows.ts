import type { SecretRow, SecretStore } from '../core/ports/secrets.ts'

// Few enough that reading them delays no other statement.
const ROWS_AT_ONCE = 100

/** All rows that may hold secrets, some at a time. */
export async function* allRows(store: SecretStore): AsyncGenerator<SecretRow> {
  for (const kind of ['connection', 'second-factor', 'block-list', 'webhook', 'session'] as const) {
    let after: string | null = null
    for (;;) {
      const rows: readonly SecretRow[] = await store.listSecrets(kind, after, ROWS_AT_ONCE)
      yield* rows
      if (rows.length < ROWS_AT_ONCE) break
      after = rows.at(-1)?.owner ?? null
    }
  }
}
