import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleRoute, Role } from '../../contract/console/route.ts'
import type { AccountId } from '../../core/ids.ts'
import { STEP_UP_LASTS_MS } from '../../core/people/lifetimes.ts'
import { isAtLeast } from '../../core/people/role.ts'
import type { AuthenticatedSession } from '../../core/ports/console/sessions.ts'
import { Refusal } from '../../core/refusals.ts'
import { contextOf } from '../server/request-context.ts'
import type { ConsoleParts } from './console-parts.ts'
import { isOfOurPages, isOnThisMachine } from './csrf.ts'
import type { AccountRequest, ConsoleRequest, PersonRequest } from './request-context.ts'
import { sessionHashOf } from './session-cookie.ts'

export type AnyRequestContext = ConsoleRequest | PersonRequest | AccountRequest

/** Checks access to a route before anything of the body is read. Throws a refusal when it is denied. */
export async function authorize(
  route: ConsoleRoute,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  parts: ConsoleParts,
): Promise<AnyRequestContext> {
  const { headers } = request
  if (!parts.isSecure && !parts.mayUsePlainHttp && !isOnThisMachine(headers)) throw new Refusal('console_needs_https')
  if (!isOfOurPages(request.method, headers, parts)) throw new Refusal('cross_site_request')
  const context = {
    requestId: contextOf(request.raw).requestId,
    now: parts.clock.now(),
    remoteAddress: parts.addressOf(request.raw),
    userAgent: headers['user-agent']?.slice(0, MOST_USER_AGENT) ?? null,
    request,
    reply,
  }
  if (route.access === 'public') return context

  const session = await findSession(request, parts)
  const { personId, sessionId, provenAt, email: name } = session
  const actor = { name, personId, remoteAddress: context.remoteAddress, userAgent: context.userAgent }
  const person = {
    ...context,
    personId,
    sessionId,
    provenAt,
    actor: { ...actor, right: { sessionId, membership: null } },
  }
  if (route.access === 'person') {
    if (route.stepUp) requireFreshProof(person)
    return person
  }
  const { accountId, role } = findMembership(route.access, request, session)
  if (route.stepUp) requireFreshProof(person)
  const right = { sessionId, membership: { accountId, least: route.access } }
  const isStillAuthorized = (least: Role) => hasRight({ personId, sessionId, accountId, least }, parts)
  return { ...person, accountId, role, actor: { ...actor, right }, isStillAuthorized }
}

/** Also called by handlers whose route is sensitive only for some inputs. */
export function requireFreshProof(
  { now, provenAt }: Pick<PersonRequest, 'now' | 'provenAt'>,
  lastsMs = STEP_UP_LASTS_MS,
): void {
  if (now - provenAt > lastsMs) throw new Refusal('step_up_required')
}

const MOST_USER_AGENT = 500

async function findSession(request: FastifyRequest, parts: ConsoleParts): Promise<AuthenticatedSession> {
  const sha256 = sessionHashOf(request, parts)
  const session = sha256 && (await parts.store.sessions.find(sha256))
  if (!session) throw new Refusal('not_signed_in')
  return session
}

function findMembership(
  least: Role,
  request: FastifyRequest,
  session: AuthenticatedSession,
): Pick<AccountRequest, 'accountId' | 'role'> {
  const { account } = request.params as { readonly account?: string }
  const membership = session.memberships.find(({ accountId }) => accountId === account)
  // The same answer for an account that does not exist and for one of other people, so it reveals nothing.
  if (!membership) throw new Refusal('account_unknown', 'There is no such account, or you do not belong to it.')
  if (membership.requiresSecondFactor && !session.hasSecondFactor) throw new Refusal('second_factor_required')
  if (!isAtLeast(membership.role, least)) throw new Refusal('role_too_low')
  return { accountId: membership.accountId, role: membership.role }
}

interface WantedRight {
  readonly personId: string
  readonly sessionId: string
  readonly accountId: AccountId
  readonly least: Role
}

async function hasRight(
  { personId, sessionId, accountId, least }: WantedRight,
  { store: { sessions, people } }: ConsoleParts,
): Promise<boolean> {
  const [living, person] = await Promise.all([sessions.list(personId), people.findPerson(personId)])
  const account = person?.accounts.find(({ id }) => id === accountId)
  if (!person || !account || !living.some(({ id }) => id === sessionId)) return false
  return isAtLeast(account.role, least) && (person.hasSecondFactor || !account.requiresSecondFactor)
}
