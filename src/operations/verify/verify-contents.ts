import { stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { type SecretStore, SecretUnreadable } from '../../core/ports/secrets.ts'
import { Refusal } from '../../core/refusals.ts'
import { allRows } from '../../secrets/all-rows.ts'
import { KeyRing } from '../../secrets/key-ring.ts'
import { KeyRingFile } from '../../secrets/key-ring-file.ts'
import { checkCanary } from '../../secrets/open-key-ring.ts'
import { placeOf } from '../../secrets/place-of.ts'
import type { Store } from '../../storage/queries/store.ts'
import { type Finding, Findings } from '../../storage/queries/verify/findings.ts'
import type { Verification, VerifyEngine, VerifyProgress } from '../../storage/queries/verify/verification.ts'
import { verifyMessages } from '../../storage/queries/verify/verify-messages.ts'
import {
  noteHold,
  spooledFiles,
  verifyIdempotency,
  verifyOpenAttempts,
  verifyTallies,
} from '../../storage/queries/verify/verify-rest.ts'
import { verifySessions } from './verify-sessions.ts'

// A process that waits on this database gets at least half of the time.
const LEAST_REST_MS = 1

export interface Verified {
  /** Where the checked data lies. */
  readonly place: string
  readonly messages: number
  readonly tookMs: number
  readonly findings: readonly Finding[]
}

interface ContentsToVerify {
  readonly store: Store
  readonly secretStore: SecretStore
  readonly engine: VerifyEngine
  readonly keyRingFile: string
  /** The spool of this machine; null where the files are not checked. `id` null: all files lie in it. */
  readonly spool: { readonly id: string | null } | null
  /** Another process may be using it. */
  readonly isServed: boolean
  readonly onProgress: (progress: VerifyProgress) => void
}

/** Checks a database in small steps and reports all that is wrong. It changes nothing. */
export async function verifyContents(
  contents: ContentsToVerify,
  findings = new Findings(),
): Promise<{ readonly messages: number; readonly findings: readonly Finding[] }> {
  const { store, engine, isServed, onProgress } = contents
  const verification: Verification = {
    store,
    findings,
    onProgress,
    rest: (tookMs) => (isServed ? pause(Math.max(LEAST_REST_MS, tookMs)) : Promise.resolve()),
  }
  await engine.verifyPages(verification)
  await engine.verifyNumbers(verification)
  const messages = await verifyMessages(verification)
  await verifyOpenAttempts(verification)
  await verifyIdempotency(verification)
  await verifyTallies(verification)
  await noteHold(verification)
  const ring = await openRing(contents, findings)
  if (ring !== null) {
    await verifySecrets(ring, contents.secretStore, findings)
    await verifySessions(ring, verification)
  }
  if (contents.spool !== null) await verifySpool(verification, contents.spool.id)
  return { messages, findings: findings.all }
}

/** Null where nothing is sealed, and where the ring does not open what is sealed. */
async function openRing({ secretStore, keyRingFile }: ContentsToVerify, findings: Findings): Promise<KeyRing | null> {
  const { canary } = await secretStore.readKeyFacts()
  if (!canary) return null
  try {
    const file = new KeyRingFile(keyRingFile)
    if (!file.exists()) {
      findings.add('key_ring_unusable', `There is none at ${keyRingFile}, and the key ${canary.keyId} is needed.`)
      return null
    }
    const ring = new KeyRing(file)
    checkCanary(ring, canary)
    return ring
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    findings.add('key_ring_unusable', error.message)
    return null
  }
}

async function verifySecrets(ring: KeyRing, secretStore: SecretStore, findings: Findings): Promise<void> {
  for await (const row of allRows(secretStore)) {
    for (const [name, text] of Object.entries(row.texts)) {
      if (!ring.isSealed(text)) continue
      try {
        ring.open(text, placeOf(row, name))
      } catch (error) {
        if (!(error instanceof SecretUnreadable)) throw error
        findings.add('secret_unreadable', error.message)
      }
    }
  }
}

async function verifySpool(verification: Verification, spool: string | null): Promise<void> {
  for await (const { path, sizeBytes } of spooledFiles(verification, spool)) {
    const found = await stat(path).catch(() => null)
    if (found === null || (sizeBytes !== null && found.size !== sizeBytes))
      verification.findings.add('media_missing', path)
  }
}
