import { createHash } from 'node:crypto'
import type { sessionRoutes } from '../../../contract/console/session.ts'
import { SECOND_STEP_LASTS_MS } from '../../../core/people/lifetimes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { networkOf } from '../../server/source-address.ts'
import type { ConsoleRequest, Handlers } from '../request-context.ts'
import { consumeCode } from './consume-code.ts'
import { answerPasskey, requestPasskey } from './passkeys.ts'
import { countTry, createSecret, type PeopleParts, secretHash, unauthenticatedActor } from './people-parts.ts'
import { findKnownDevice, startSession } from './start-session.ts'

/** The state between the two steps of signing in. */
interface Halfway {
  readonly isKept: boolean
  readonly email: string
  /** Counters to reset after success. */
  readonly reset: readonly string[]
  readonly returned: readonly string[]
}

type SignInHandlers = Pick<
  Handlers<typeof sessionRoutes>,
  'signIn' | 'finishSignIn' | 'requestPasskeySignIn' | 'signInByPasskey'
>

export function signInHandlers(parts: PeopleParts): SignInHandlers {
  const { sessions } = parts.store
  return {
    signIn: ({ body }, context) => signIn(parts, body, context),
    finishSignIn: ({ body }, context) => finishSignIn(parts, body, context),
    async requestPasskeySignIn(_, context) {
      await countTry(parts, [{ key: `question:${networkOf(context.remoteAddress)}`, rule: 'minute' }])
      return requestPasskey(parts, 'passkey-sign-in', null)
    },
    async signInByPasskey({ body: { ticket, answer, keep } }, context) {
      // A passkey cannot be guessed: this only limits the work.
      const minute = `passkey:${networkOf(context.remoteAddress)}`
      await countTry(parts, [{ key: minute, rule: 'minute' }])
      const personId = await answerPasskey(parts, { ticket, kind: 'passkey-sign-in', answer, personId: null })
      const returned = [minute, `question:${networkOf(context.remoteAddress)}`]
      await sessions.forgiveTry({ reset: [], returned })
      await startSession(parts, context, { personId, proof: 'passkey', isKept: keep })
      return { step: 'done' }
    },
  }
}

async function signIn(
  parts: PeopleParts,
  { email, password, keep }: { readonly email: string; readonly password: string; readonly keep: boolean },
  context: ConsoleRequest,
) {
  const { people, sessions, audit } = parts.store
  const found = await people.findCredentials(email)
  const counters = await countersOf(parts, context, { email, personId: found?.personId ?? null })
  await countTry(parts, counters.tries)
  // The same work for unknown people, so that neither the reply nor the time reveals who exists.
  const isRight = await parts.hasher.isRight(password, found?.passwordHash ?? null)
  if (!found || !isRight) {
    // A person may have typed a password in place of the e-mail, so it is not logged.
    const by = unauthenticatedActor(context, found ?? { email: 'unknown person', personId: null })
    await audit.note({ action: 'sign-in.failed', personId: by.personId }, by)
    throw new Refusal('sign_in_failed')
  }
  await renewHash(parts, password, found)
  const { personId } = found
  if (!found.hasTotp && !found.hasPasskey) {
    await sessions.forgiveTry(counters)
    await startSession(parts, context, { personId, proof: 'password', isKept: keep })
    return { step: 'done' } as const
  }
  const { secret, sha256 } = createSecret(parts)
  const halfway: Halfway = { isKept: keep, email: found.email, reset: counters.reset, returned: counters.returned }
  const expiresAt = parts.clock.now() + SECOND_STEP_LASTS_MS
  await sessions.addTicket({ sha256, kind: 'second-factor', personId, content: JSON.stringify(halfway), expiresAt })
  const methods: ('totp' | 'passkey' | 'recovery-code')[] = ['recovery-code']
  if (found.hasPasskey) methods.unshift('passkey')
  if (found.hasTotp) methods.unshift('totp')
  return { step: 'second-factor', ticket: secret, methods } as const
}

/** A browser that the person has used before has its own counter, so that guesses from elsewhere cannot lock the person out. */
async function countersOf(
  parts: PeopleParts,
  context: ConsoleRequest,
  { email, personId }: { readonly email: string; readonly personId: string | null },
) {
  const network = networkOf(context.remoteAddress)
  const device = personId === null ? null : await findKnownDevice(parts, context, personId)
  const key = personId ?? createHash('sha256').update(email.trim().normalize('NFC').toLowerCase()).digest('hex')
  if (device !== null) {
    const own = { key: `device:${key}:${device}`, rule: 'device' } as const
    return { tries: [own], reset: [own.key], returned: [] }
  }
  const own = { key: `account:${key}`, rule: 'account' } as const
  const [address, minute] = [`address:${network}`, `minute:${network}`]
  const tries = [own, { key: address, rule: 'address' }, { key: minute, rule: 'minute' }] as const
  return { tries, reset: [own.key], returned: [address, minute] }
}

/** Rehashes with newer parameters, because only now the password is known. */
async function renewHash(
  { hasher, store }: PeopleParts,
  password: string,
  { personId, passwordHash }: { readonly personId: string; readonly passwordHash: string | null },
): Promise<void> {
  if (passwordHash === null || !hasher.isOutdated(passwordHash)) return
  await store.people.rehashPassword(personId, passwordHash, await hasher.hash(password))
}

async function finishSignIn(
  parts: PeopleParts,
  { ticket, code }: { readonly ticket: string; readonly code: string },
  context: ConsoleRequest,
) {
  const { sessions, audit } = parts.store
  const sha256 = secretHash(ticket)
  const found = await sessions.findTicket(sha256, 'second-factor', false)
  if (!found || found.personId === null) throw new Refusal('ticket_dead')
  const { personId } = found
  const { isKept, email, reset, returned } = JSON.parse(found.content) as Halfway
  const codes = `code:${personId}`
  await countTry(parts, [{ key: codes, rule: 'code' }])
  const by = unauthenticatedActor(context, { email, personId })
  const proof = await consumeCode(parts, { personId, code, by })
  if (!proof) {
    await audit.note({ action: 'sign-in.code-wrong', personId }, by)
    throw new Refusal('code_wrong', undefined, 'code')
  }
  if (!(await sessions.findTicket(sha256, 'second-factor', true))) throw new Refusal('ticket_dead')
  await sessions.forgiveTry({ reset: [...reset, codes], returned })
  await startSession(parts, context, { personId, proof, isKept })
  return { step: 'done' } as const
}
