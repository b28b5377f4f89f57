import { KeyRing } from '../../../secrets/key-ring.ts'
import { KeyRingFile } from '../../../secrets/key-ring-file.ts'
import { checkCanary } from '../../../secrets/open-key-ring.ts'
import { openEngine } from '../../../server/wiring/open-engine.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped } from '../finding.ts'

/** Refuses, as a start does, with what is wrong with the ring. Never makes one. */
export async function checkKeyRing({ settings, openSession }: Examination): Promise<CheckResult> {
  if (!settings) return skipped('The settings are wrong, so that it is unknown where the key ring is.')
  const file = new KeyRingFile(settings.keyRingFile)
  const { place } = file
  const hasRing = file.exists()
  if (!(await openSession())) {
    // The check of the database has said why.
    if (!hasRing) return ok(`There is no key ring at ${place} yet; the first start makes it.`)
    return ok(`The key ring ${place} can be read. Without the database it is unknown whether it is the right one.`, {
      keys: new KeyRing(file).keys.keys.length,
    })
  }
  const engine = await openEngine(settings, false)
  try {
    const { canary } = await engine.openSecretStore().readKeyFacts()
    if (!hasRing)
      return canary
        ? problem(
            `There is no key ring at ${place}, and the secrets in the database are sealed with its key ${canary.keyId}.`,
            'Restore the key ring from its own backup, or copy it from another machine of this installation.',
          )
        : ok(`There is no key ring at ${place} yet; the next start makes it.`)
    const ring = new KeyRing(file)
    if (canary) checkCanary(ring, canary)
    const facts = { place, keys: ring.keys.keys.length }
    return ok(`The key ring ${place} opens what the database keeps. Keep a copy of it apart from the data.`, facts)
  } finally {
    await engine.close()
  }
}
