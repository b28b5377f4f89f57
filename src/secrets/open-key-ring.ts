import type { Canary, KeyFacts, SecretPlace, SecretStore } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'
import { KeyRing } from './key-ring.ts'
import type { KeyRingFile } from './key-ring-file.ts'

const CANARY_PLACE: SecretPlace = { purpose: 'canary', accountId: null, owner: 'installation', name: 'canary' }
const CANARY_SAYS = 'nuncio'

interface OpenKeyRingParts {
  readonly file: KeyRingFile
  readonly facts: KeyFacts
  /** Opened only if something must be stored, which is rare at a start. */
  readonly withStore: (work: (store: SecretStore) => Promise<void>) => Promise<void>
  readonly now: number
}

/**
 * Opens the ring of this installation, or makes one if nothing was ever sealed. Refuses with `key_ring_missing`,
 * `key_ring_foreign` or `key_ring_unusable`.
 */
export async function openKeyRing({ file, facts, withStore, now }: OpenKeyRingParts): Promise<KeyRing> {
  if (!file.exists()) {
    if (facts.canary) refuseMissing(file, facts.canary)
    file.make(now)
  }
  const ring = new KeyRing(file)
  if (facts.canary) {
    checkCanary(ring, facts.canary)
    return ring
  }
  await withStore(async (store) => {
    await store.addCanary(makeCanary(ring))
    // Another machine may have stored its ring first, and then ours is wrong.
    const { canary } = await store.readKeyFacts()
    if (canary) checkCanary(ring, canary)
  })
  return ring
}

export function makeCanary(ring: KeyRing): Canary {
  const { sealsWith } = ring.keys
  return { keyId: sealsWith.id, sealed: sealsWith.seal(CANARY_SAYS, CANARY_PLACE) }
}

/** Refuses with `key_ring_foreign`. */
export function checkCanary(ring: KeyRing, canary: Canary): void {
  const hasKey = ring.keys.keys.some(({ id }) => id === canary.keyId)
  if (hasKey && opens(ring, canary)) return
  throw new Refusal(
    'key_ring_foreign',
    hasKey
      ? `The table key_ring of the database does not open with the key ring ${ring.place}, although the ring has its key: the row was changed. Restore the database from a backup.`
      : `The key ring ${ring.place} does not belong to this database: what is sealed there needs the key ${canary.keyId}. Restore the key ring from its own backup, or copy it from another machine of this installation.`,
  )
}

function refuseMissing(file: KeyRingFile, { keyId }: Canary): never {
  throw new Refusal(
    'key_ring_missing',
    `There is no key ring at ${file.place}, and the secrets in the database are sealed with its key ${keyId}. Restore the key ring from its own backup, or copy it from another machine of this installation.`,
  )
}

function opens(ring: KeyRing, { sealed }: Canary): boolean {
  try {
    return ring.open(sealed, CANARY_PLACE) === CANARY_SAYS
  } catch {
    return false
  }
}
