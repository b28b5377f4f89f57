import type { Settings } from '../../config/read-settings.ts'
import type { KeyFacts, SecretStore } from '../../core/ports/secrets.ts'
import type { KeyRing } from '../../secrets/key-ring.ts'
import { KeyRingFile } from '../../secrets/key-ring-file.ts'
import { openKeyRing } from '../../secrets/open-key-ring.ts'
import { systemClock } from '../system-clock.ts'

/** Facts that a caller with an open database already knows. */
interface KnownOfDatabase {
  readonly facts: KeyFacts
  readonly store?: SecretStore
}

/**
 * Opens the key ring of this installation. At the first start it is made; from then on it must open what the database
 * keeps, or this refuses. Without `known` the database, which must be there, is opened for a moment.
 */
export async function openSecrets(settings: Settings, known?: KnownOfDatabase): Promise<KeyRing> {
  const file = new KeyRingFile(settings.keyRingFile)
  const now = systemClock.now()
  const withStore = async (work: (store: SecretStore) => Promise<void>) => {
    if (known?.store) return work(known.store)
    const { openEngine } = await import('./open-engine.ts')
    const engine = await openEngine(settings, false)
    try {
      await work(engine.openSecretStore())
    } finally {
      await engine.close()
    }
  }
  if (known) return openKeyRing({ file, facts: known.facts, withStore, now })
  let facts: KeyFacts | null = null
  await withStore(async (store) => {
    facts = await store.readKeyFacts()
  })
  return openKeyRing({ file, facts: facts ?? { canary: null }, withStore, now })
}
