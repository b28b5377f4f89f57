import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, ConsoleRoute, InputOf, ReplyOf, Role } from '../../contract/console/route.ts'
import type { AccountId, Instant } from '../../core/ids.ts'
import type { Actor } from '../../core/ports/administration.ts'

/** One request of the console, by whomever. */
export interface ConsoleRequest {
  readonly requestId: string
  readonly now: Instant
  readonly remoteAddress: string
  readonly userAgent: string | null
  /** For what is no JSON, and for cookies. */
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** By a person who is signed in. */
export interface PersonRequest extends ConsoleRequest {
  readonly personId: string
  readonly sessionId: string
  /** When they last proved in this session that it is them. */
  readonly provenAt: Instant
  /** For the audit log: the person, and where they are. */
  readonly actor: Actor
}

/** In an account in which that person has the role that the route wants, or more. */
export interface AccountRequest extends PersonRequest {
  readonly accountId: AccountId
  readonly role: Role
  /** For replies that last: whether the session lives and the role is still `least` or higher. It is no use of the session. */
  readonly isStillAuthorized: (least: Role) => Promise<boolean>
}

type RequestFor<Wanted extends Access> = Wanted extends 'anybody'
  ? ConsoleRequest
  : Wanted extends 'person'
    ? PersonRequest
    : AccountRequest

/**
 * One function for each route of an area. It may throw a `Refusal`, which becomes the reply; any other error is a fault
 * of ours. A route whose reply is RAW writes to `visit.reply` and returns nothing.
 */
export type Handlers<Routes extends Readonly<Record<string, ConsoleRoute>>> = {
  readonly [Name in keyof Routes]: (
    input: InputOf<Routes[Name]>,
    context: RequestFor<Routes[Name]['access']>,
  ) => Promise<ReplyOf<Routes[Name]>>
}
