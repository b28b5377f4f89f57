import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, ConsoleRoute, InputOf, ReplyOf, Role } from '../../contract/console/route.ts'
import type { AccountId, Instant } from '../../core/ids.ts'
import type { Actor } from '../../core/ports/administration.ts'

/** A request of the console, signed in or not. */
export interface ConsoleRequest {
  readonly requestId: string
  readonly now: Instant
  readonly remoteAddress: string
  readonly userAgent: string | null
  /** For cookies, and for bodies that are no JSON. */
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** A request of a person who is signed in. */
export interface PersonRequest extends ConsoleRequest {
  readonly personId: string
  readonly sessionId: string
  /** When they last confirmed their identity in this session. */
  readonly provenAt: Instant
  /** For the audit log: the person and their address. */
  readonly actor: Actor
}

/** A request in an account where the person has at least the role that the route requires. */
export interface AccountRequest extends PersonRequest {
  readonly accountId: AccountId
  readonly role: Role
  /** For long replies: whether the session is valid and the role is still `least` or higher. Does not count as use of the session. */
  readonly isStillAuthorized: (least: Role) => Promise<boolean>
}

type RequestFor<Wanted extends Access> = Wanted extends 'public'
  ? ConsoleRequest
  : Wanted extends 'person'
    ? PersonRequest
    : AccountRequest

/**
 * One function for each route of an area. It may throw a `Refusal`, which becomes the reply; any other error is a fault
 * of ours. A route whose reply is RAW writes to `context.reply` and returns nothing.
 */
export type Handlers<Routes extends Readonly<Record<string, ConsoleRoute>>> = {
  readonly [Name in keyof Routes]: (
    input: InputOf<Routes[Name]>,
    context: RequestFor<Routes[Name]['access']>,
  ) => Promise<ReplyOf<Routes[Name]>>
}
