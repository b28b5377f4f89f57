import type { PersonActor } from '../../../core/ports/administration.ts'
import type { Proof } from '../../../core/ports/console/sessions.ts'
import type { PeopleParts } from './people-parts.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { openTotp } from './sealed-totp.ts'
import { findTotpStep } from './totp.ts'

/** Uses up a correct code: six digits from an app, or a recovery code. Null when it is wrong. */
export async function consumeCode(
  { store, clock, secrets }: PeopleParts,
  { personId, code, by }: { readonly personId: string; readonly code: string; readonly by: PersonActor },
): Promise<Proof | null> {
  const digits = code.replace(/[\s-]/g, '')
  if (!/^\d{6}$/.test(digits)) {
    const isRight = await store.people.spendRecoveryCode(personId, recoveryCodeHash(code), by)
    return isRight ? 'password and recovery code' : null
  }
  const kept = await store.people.readTotp(personId, 'confirmed')
  const step = kept && findTotpStep(openTotp(secrets, personId, kept), digits, clock.now())
  return step !== null && (await store.people.spendTotpStep(personId, step)) ? 'password and code' : null
}
