import type { SecretStore } from '../core/ports/secrets.ts'
import { allRows } from './all-rows.ts'
import type { KeyRing } from './key-ring.ts'
import { placeOf } from './place-of.ts'

/** Seals the secrets of code apps that an older version stored in the clear. Returns how many rows it changed. */
export async function sealPlain(store: SecretStore, ring: KeyRing): Promise<number> {
  let changed = 0
  for await (const row of allRows(store)) {
    // The settings of a connection hold other texts too, and whoever wrote them sealed what is secret.
    if (row.kind !== 'second-factor') continue
    const plain = Object.entries(row.texts).filter(([, text]) => !ring.isSealed(text))
    if (plain.length === 0) continue
    const sealed = plain.map(([name, text]) => [name, ring.seal(text, placeOf(row, name))] as const)
    // Whoever was faster has sealed it as well.
    if (await store.replaceSecrets(row, Object.fromEntries(sealed))) changed++
  }
  await store.forgetReplaced()
  return changed
}
