import type { peopleRoutes } from '../../../contract/console/people.ts'
import { checkPassword } from '../../../core/people/password-rules.ts'
import type { FactorChange } from '../../../core/ports/console/people.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Handlers, PersonRequest } from '../request-context.ts'
import { readNewPasskey, requestNewPasskey } from './passkeys.ts'
import { countTry, type PeopleParts } from './people-parts.ts'
import { createRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { openTotp, sealTotp } from './sealed-totp.ts'
import { base32, findTotpStep, TOTP_SECRET_BYTES, totpUri } from './totp.ts'

const DONE = { done: true } as const

type OwnHandlers = Pick<
  Handlers<typeof peopleRoutes>,
  | 'changeOwnName'
  | 'changePassword'
  | 'readFactors'
  | 'beginTotp'
  | 'confirmTotp'
  | 'removeTotp'
  | 'replaceRecoveryCodes'
  | 'requestNewPasskey'
  | 'addPasskey'
  | 'renamePasskey'
  | 'removePasskey'
>

/** A person's own name, password and second factors. */
export function ownHandlers(parts: PeopleParts): OwnHandlers {
  const { people } = parts.store
  return {
    async changeOwnName({ body: { name } }, context) {
      await people.changeName(context.personId, name, context.actor)
      return DONE
    },
    async changePassword({ body: { password } }, context) {
      checkPassword(password, await findSelf(parts, context))
      const hash = await parts.hasher.hash(password)
      await people.setPassword(context.personId, { hash, keep: context.sessionId }, context.actor)
      return DONE
    },
    async readFactors(_, context) {
      const { totpSince, passkeys, recoveryCodesLeft } = await people.readFactors(context.personId)
      return { totpSince, passkeys: [...passkeys], recoveryCodesLeft }
    },
    async replaceRecoveryCodes(_, context) {
      const { totpSince, passkeys } = await people.readFactors(context.personId)
      if (totpSince === null && passkeys.length === 0) throw new Refusal('second_factor_missing')
      return { recoveryCodes: await makeRecoveryCodes(parts, context) }
    },
    ...totpHandlers(parts),
    ...passkeyHandlers(parts),
  }
}

function totpHandlers(parts: PeopleParts): Pick<OwnHandlers, 'beginTotp' | 'confirmTotp' | 'removeTotp'> {
  const { people, sessions } = parts.store
  return {
    async beginTotp(_, context) {
      const { email } = await findSelf(parts, context)
      const secret = parts.randomBytes(TOTP_SECRET_BYTES)
      await people.beginTotp(context.personId, sealTotp(parts.secrets, context.personId, secret))
      return { secret: base32(secret), uri: totpUri(secret, email) }
    },
    async confirmTotp({ body: { code } }, context) {
      const key = `code:${context.personId}`
      await countTry(parts, [{ key, rule: 'code' }])
      const kept = await people.readTotp(context.personId, 'begun')
      if (!kept) throw new Refusal('ticket_dead')
      const secret = openTotp(parts.secrets, context.personId, kept)
      const step = findTotpStep(secret, code.replace(/[\s-]/g, ''), parts.clock.now())
      if (step === null) throw new Refusal('code_wrong', undefined, 'code')
      if (!(await people.confirmTotp(changeBy(context), step))) throw new Refusal('ticket_dead')
      await sessions.forgiveTry({ reset: [key], returned: [] })
      return { recoveryCodes: await makeFirstRecoveryCodes(parts, context) }
    },
    async removeTotp(_, context) {
      if (!(await people.removeTotp(changeBy(context)))) throw new Refusal('second_factor_missing', NO_TOTP)
      return DONE
    },
  }
}

const NO_TOTP = 'You have no app for codes: there is nothing to remove.'

function passkeyHandlers(
  parts: PeopleParts,
): Pick<OwnHandlers, 'requestNewPasskey' | 'addPasskey' | 'renamePasskey' | 'removePasskey'> {
  const { people } = parts.store
  return {
    async requestNewPasskey(_, context) {
      const { id: personId, email, name } = await findSelf(parts, context)
      return requestNewPasskey(parts, { personId, email, name })
    },
    async addPasskey({ body: { ticket, answer, name } }, context) {
      const passkey = await readNewPasskey(parts, { ticket, answer, name, personId: context.personId })
      await people.addPasskey(changeBy(context), passkey)
      return { recoveryCodes: await makeFirstRecoveryCodes(parts, context) }
    },
    async renamePasskey({ params: { id }, body: { name } }, context) {
      if (!(await people.renamePasskey(context.personId, { id, name }, context.actor)))
        throw new Refusal('passkey_unknown')
      return DONE
    },
    async removePasskey({ params: { id } }, context) {
      if (!(await people.removePasskey(changeBy(context), id))) throw new Refusal('passkey_unknown')
      return DONE
    },
  }
}

/** Ends all other sessions: another person in one of them may be the reason for the change. */
function changeBy({ personId, sessionId, actor }: PersonRequest): FactorChange {
  return { personId, keep: sessionId, by: actor }
}

async function findSelf({ store }: PeopleParts, { personId }: PersonRequest) {
  const person = await store.people.findPerson(personId)
  if (!person) throw new Refusal('not_signed_in')
  return person
}

/** Null when some are left: codes that the person has stored must stay valid. */
async function makeFirstRecoveryCodes(parts: PeopleParts, context: PersonRequest): Promise<string[] | null> {
  const { recoveryCodesLeft } = await parts.store.people.readFactors(context.personId)
  return recoveryCodesLeft > 0 ? null : makeRecoveryCodes(parts, context)
}

async function makeRecoveryCodes(parts: PeopleParts, context: PersonRequest): Promise<string[]> {
  const codes = createRecoveryCodes(parts.randomBytes)
  await parts.store.people.replaceRecoveryCodes(context.personId, codes.map(recoveryCodeHash), context.actor)
  return [...codes]
}
