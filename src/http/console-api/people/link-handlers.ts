import { findEmailFault } from '../../../contract/console/form-rules.ts'
import { PERSON_NAME, type peopleRoutes } from '../../../contract/console/people.ts'
import { checkPassword } from '../../../core/people/password-rules.ts'
import type { LinkView } from '../../../core/ports/console/people.ts'
import { readOneLine } from '../../../core/read-one-line.ts'
import { Refusal, readParts } from '../../../core/refusals.ts'
import type { Handlers } from '../request-context.ts'
import { type PeopleParts, secretHash, unauthenticatedActor } from './people-parts.ts'
import { startSession } from './start-session.ts'

const DONE = { done: true } as const

type LinkHandlers = Pick<
  Handlers<typeof peopleRoutes>,
  'readLink' | 'setUp' | 'acceptInvitation' | 'joinAccount' | 'resetPassword'
>

/** Set-up, invitation and password links. A link's secret has 256 bits, so guessing needs no rate limit. */
export function linkHandlers(parts: PeopleParts): LinkHandlers {
  const { people } = parts.store
  return {
    async readLink({ body: { kind, link } }) {
      const { email, account, role, expiresAt } = await findPersonLink(parts, kind, link)
      return { email, account, role, expiresAt }
    },
    async setUp({ body: { link, password, ...body } }, context) {
      await findPersonLink(parts, 'set-up', link)
      const { name, email } = await readParts({
        name: () => readOneLine(body.name, PERSON_NAME, 'name'),
        email: () => readEmail(body.email),
        password: () => checkPassword(password, { name: body.name, email: body.email.trim(), hasSecondFactor: false }),
      })
      const passwordHash = await parts.hasher.hash(password)
      const by = unauthenticatedActor(context, { email, personId: null })
      const personId = await people.setUp(secretHash(link), { email, name, passwordHash }, by)
      // What stays of it is useless, and goes at the next start.
      await parts.deleteSetupLink().catch(() => undefined)
      await startSession(parts, context, { personId, proof: 'link', isKept: false })
      return DONE
    },
    async acceptInvitation({ body: { link, password, ...body } }, context) {
      const { email } = await findPersonLink(parts, 'invitation', link)
      if (email === null) throw new Refusal('link_dead')
      const { name } = await readParts({
        name: () => readOneLine(body.name, PERSON_NAME, 'name'),
        password: () => checkPassword(password, { email, name: body.name, hasSecondFactor: false }),
      })
      const passwordHash = await parts.hasher.hash(password)
      const by = unauthenticatedActor(context, { email, personId: null })
      const personId = await people.acceptInvitation(secretHash(link), { name, passwordHash }, by)
      await startSession(parts, context, { personId, proof: 'link', isKept: false })
      return DONE
    },
    async joinAccount({ body: { link } }, context) {
      return { account: await people.joinAccount(secretHash(link), context.personId, context.actor) }
    },
    async resetPassword({ body: { link, password } }, context) {
      const { personId: known } = await findPersonLink(parts, 'reset-password', link)
      const person = known === null ? null : await people.findPerson(known)
      if (!person) throw new Refusal('link_dead')
      checkPassword(password, person)
      const passwordHash = await parts.hasher.hash(password)
      // The link replaces only the password: the person then signs in, with their second factor if they have one.
      await people.resetPassword(
        secretHash(link),
        passwordHash,
        unauthenticatedActor(context, { ...person, personId: person.id }),
      )
      return DONE
    },
  }
}

function readEmail(text: string): string {
  const email = text.trim()
  const fault = findEmailFault(email)
  if (fault !== null) throw new Refusal('argument_invalid', fault, 'email')
  return email
}

/** Checked before a password is hashed, so that requests without a valid link cost little. */
async function findPersonLink({ store }: PeopleParts, kind: LinkView['kind'], link: string): Promise<LinkView> {
  const isSetUp = kind === 'set-up'
  if (isSetUp && (await store.people.hasPeople()))
    throw new Refusal('people_exist', 'Nuncio is set up already: sign in.')
  const found = await store.people.findPersonLink(secretHash(link), kind)
  if (!found) throw new Refusal('link_dead', isSetUp ? 'This link is too old or incomplete.' : undefined)
  return found
}
