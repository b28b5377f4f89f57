import type { SecretStore } from '../core/ports/secrets.ts'
import { allRows } from './all-rows.ts'
import { keyIdOf } from './key.ts'

/** How many secrets each key seals, by its id, the canary among them. Keys that seal nothing are left out. */
export async function countSecrets(store: SecretStore): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const count = (keyId: string | null) => keyId !== null && counts.set(keyId, (counts.get(keyId) ?? 0) + 1)
  for await (const row of allRows(store)) for (const text of Object.values(row.texts)) count(keyIdOf(text))
  const { canary } = await store.readKeyFacts()
  count(canary?.keyId ?? null)
  return counts
}
