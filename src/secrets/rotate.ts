import { type SecretRow, type SecretStore, SecretUnreadable } from '../core/ports/secrets.ts'
import { allRows } from './all-rows.ts'
import { keyIdOf } from './key.ts'
import type { KeyRing } from './key-ring.ts'
import { makeCanary } from './open-key-ring.ts'
import { placeOf } from './place-of.ts'

// A row that changes meanwhile is sealed in the next pass. The last pass finds no work.
const MOST_PASSES = 20

export interface Resealed {
  /** Secrets that are sealed with the new key now. */
  readonly secrets: number
  /** Sentences that say which secrets cannot be opened, and why. */
  readonly unreadable: readonly string[]
}

interface ResealParts {
  readonly store: SecretStore
  readonly ring: KeyRing
  readonly onProgress: (secrets: number) => void
}

/**
 * Seals everything with the current key while the service runs, and the canary last: while that is sealed with another key,
 * the rotation is unfinished and can be run again.
 */
export async function resealAll({ store, ring, onProgress }: ResealParts): Promise<Resealed> {
  let secrets = 0
  for (let pass = 1; pass <= MOST_PASSES; pass++) {
    const unreadable: string[] = []
    let isWhole = true
    for await (const row of allRows(store)) {
      const outcome = await resealRow(store, ring, row)
      unreadable.push(...outcome.unreadable)
      if (outcome.found === 0) continue
      isWhole = false
      secrets += outcome.sealed
      onProgress(secrets)
    }
    if (!isWhole) continue
    await store.replaceCanary(makeCanary(ring))
    return { secrets, unreadable }
  }
  throw new Error(`After ${MOST_PASSES} passes there are still secrets sealed with another key`)
}

interface RowOutcome {
  readonly found: number
  /** 0 when another process changed the row meanwhile. */
  readonly sealed: number
  readonly unreadable: readonly string[]
}

async function resealRow(store: SecretStore, ring: KeyRing, row: SecretRow): Promise<RowOutcome> {
  const target = ring.keys.sealsWith
  const texts: Record<string, string> = {}
  const unreadable: string[] = []
  for (const [name, text] of Object.entries(row.texts)) {
    const keyId = keyIdOf(text)
    if (keyId === target.id || (keyId === null && row.kind === 'connection')) continue
    const place = placeOf(row, name)
    try {
      texts[name] = target.seal(keyId === null ? text : ring.open(text, place), place)
    } catch (error) {
      if (!(error instanceof SecretUnreadable)) throw error
      unreadable.push(error.message)
    }
  }
  const found = Object.keys(texts).length
  const isDone = found > 0 && (await store.replaceSecrets(row, texts))
  return { found, sealed: isDone ? found : 0, unreadable }
}
