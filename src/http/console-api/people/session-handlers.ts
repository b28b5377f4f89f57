import type { sessionRoutes } from '../../../contract/console/session.ts'
import { commandPrefix } from '../../../core/command-line.ts'
import { STEP_UP_LASTS_MS } from '../../../core/people/lifetimes.ts'
import { explainReason } from '../../../core/reasons.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Handlers, PersonRequest } from '../request-context.ts'
import { giveSessionCookie, sessionHashOf, takeSessionCookie } from '../session-cookie.ts'
import { consumeCode } from './consume-code.ts'
import { answerPasskey, requestPasskey } from './passkeys.ts'
import { countTry, type PeopleParts, unauthenticatedActor } from './people-parts.ts'
import { signInHandlers } from './sign-in.ts'

const DONE = { done: true } as const

type OwnSessionHandlers = Omit<Handlers<typeof sessionRoutes>, keyof ReturnType<typeof signInHandlers>>

export function sessionHandlers(parts: PeopleParts): Handlers<typeof sessionRoutes> {
  return { ...signInHandlers(parts), ...ownSessionHandlers(parts) }
}

/** Each action is written to the audit log first, which is refused when this session has ended meanwhile. */
function ownSessionHandlers(parts: PeopleParts): OwnSessionHandlers {
  const { sessions, audit } = parts.store
  return {
    async signOut(_, context) {
      await audit.note({ action: 'sign-out', personId: context.personId }, context.actor)
      await sessions.end(context.personId, context.sessionId)
      takeSessionCookie(context.reply, parts)
      return DONE
    },
    async readStorage() {
      const error = parts.findStorageError()
      return { error: error && { ...error, title: explainReason('storage_unavailable', { words: error.cause }).list } }
    },
    async readCommandPrefix() {
      return { prefix: commandPrefix() }
    },
    async sessionState(_, { request }) {
      const sha256 = sessionHashOf(request, parts)
      return { isSignedIn: sha256 !== null && (await sessions.find(sha256)) !== null }
    },
    currentSession: (_, context) => currentSession(parts, context),
    stepUp: ({ body }, context) => stepUp(parts, body, context),
    requestPasskeyStepUp: (_, context) => requestPasskey(parts, 'passkey-step-up', context.personId),
    async stepUpByPasskey({ body: { ticket, answer } }, context) {
      const { personId } = context
      await answerPasskey(parts, { ticket, kind: 'passkey-step-up', answer, personId })
      await prove(parts, context)
      return DONE
    },
    async listSessions(_, context) {
      const all = await sessions.list(context.personId)
      return { items: all.map((session) => ({ ...session, isThis: session.id === context.sessionId })) }
    },
    async endSession({ params: { id } }, context) {
      const all = await sessions.list(context.personId)
      if (!all.some((session) => session.id === id)) throw new Refusal('session_unknown')
      await audit.note({ action: 'session.end', personId: context.personId, detail: { session: id } }, context.actor)
      await sessions.end(context.personId, id)
      return DONE
    },
    async endOtherSessions(_, context) {
      const ended = (await sessions.list(context.personId)).length - 1
      await audit.note({ action: 'session.end-others', personId: context.personId, detail: { ended } }, context.actor)
      return { ended: await sessions.endAll(context.personId, context.sessionId) }
    },
  }
}

async function currentSession(parts: PeopleParts, context: PersonRequest) {
  const sha256 = sessionHashOf(context.request, parts)
  const session = sha256 && (await parts.store.sessions.find(sha256))
  const person = await parts.store.people.findPerson(context.personId)
  if (!session || !person) throw new Refusal('not_signed_in')
  const { id, email, name, hasSecondFactor } = person
  return {
    person: { id, email, name },
    accounts: person.accounts.map((account) => ({
      ...account,
      isOpen: hasSecondFactor || !account.requiresSecondFactor,
    })),
    hasSecondFactor,
    provenUntil: session.provenAt + STEP_UP_LASTS_MS,
  }
}

async function stepUp(
  parts: PeopleParts,
  given: { readonly password: string } | { readonly code: string },
  context: PersonRequest,
) {
  const { people, sessions, audit } = parts.store
  const { personId } = context
  const credentials = await people.findCredentialsOf(personId)
  if (!credentials) throw new Refusal('not_signed_in')
  const isCode = 'code' in given
  // Codes are counted together with those at sign-in, because there are only a million of them.
  const key = isCode ? `code:${personId}` : `step-up:${personId}`
  await countTry(parts, [{ key, rule: isCode ? 'code' : 'account' }])
  const by = unauthenticatedActor(context, { email: credentials.email, personId })
  const isRight = isCode
    ? (await consumeCode(parts, { personId, code: given.code, by })) !== null
    : await parts.hasher.isRight(given.password, credentials.passwordHash)
  if (!isRight) {
    await audit.note({ action: 'step-up.failed', personId }, by)
    throw isCode ? new Refusal('code_wrong', undefined, 'code') : new Refusal('proof_wrong', WRONG_PASSWORD, 'password')
  }
  await sessions.forgiveTry({ reset: [key], returned: [] })
  await prove(parts, context)
  return DONE
}

const WRONG_PASSWORD = 'This is not your password. Try again.'

/** Issues a new session id, so that a copy of the old one does not gain rights. */
async function prove(parts: PeopleParts, context: PersonRequest): Promise<void> {
  const { sessions, audit } = parts.store
  const session = (await sessions.list(context.personId)).find(({ id }) => id === context.sessionId)
  if (!session) throw new Refusal('not_signed_in')
  const restSeconds = Math.floor((session.endsAt - context.now) / 1_000)
  const sha256 = giveSessionCookie(context.reply, parts, session.isKept ? restSeconds : null)
  if (!(await sessions.prove(context.sessionId, sha256))) throw new Refusal('not_signed_in')
  await audit.note({ action: 'step-up', personId: context.personId }, context.actor)
}
