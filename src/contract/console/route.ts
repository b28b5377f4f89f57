import { z } from 'zod'

/** What a person may do in an account. Each may do all that those before it may. */
export const ROLES = ['viewer', 'developer', 'owner'] as const
export type Role = (typeof ROLES)[number]

/**
 * Who may ask. `anybody`: also who is not signed in. `person`: whoever is signed in, about themselves. A role: whoever
 * has it, or more, in the account that the path names; to all others the account does not exist.
 */
export type Access = 'anybody' | 'person' | Role

const KIB = 1024
// The longest name, e-mail address, password and link secret come to 5 KiB together, the response of a passkey to 2 KiB.
const MAX_BODY_BYTES_OF_ANYBODY = 8 * KIB
// No form is larger, and the worst JSON of this size is read within 20 ms.
const MAX_BODY_BYTES_SIGNED_IN = 64 * KIB

/** The body limit of a route. Small where no session is needed, because a stranger makes the server read it. */
export function maxBodyBytes(access: Access): number {
  return access === 'anybody' ? MAX_BODY_BYTES_OF_ANYBODY : MAX_BODY_BYTES_SIGNED_IN
}

/** One thing that can be asked of the console's private API. All of them lie under `/console/api`. */
export interface ConsoleRoute<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/console/api`, with `:names` of what `params` reads. What belongs to an account begins with `/accounts/:account/`. */
  readonly path: `/${string}`
  readonly access: Access
  /** True for sensitive acts: the person must have proven within the last minutes that it is them. */
  readonly stepUp: boolean
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** What a 200 carries. `RAW` where it is no JSON: a stream of events, a file. */
  readonly reply: Reply
}

/** The reply is written by its handler, and is no JSON. */
export const RAW = z.custom<never>(() => true)

const NOTHING = z.object({})

type Given<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> = Pick<
  ConsoleRoute<P, Q, B, R>,
  'method' | 'path' | 'reply'
> & { readonly stepUp?: true; readonly params?: P; readonly query?: Q; readonly body?: B }

/** Left out: no step-up, nothing in the path, the query or the body. */
export function consoleRoute<
  const A extends Access,
  R extends z.ZodType,
  P extends z.ZodType = typeof NOTHING,
  Q extends z.ZodType = typeof NOTHING,
  B extends z.ZodType = typeof NOTHING,
>(given: Given<P, Q, B, R> & { readonly access: A }): ConsoleRoute<P, Q, B, R> & { readonly access: A } {
  const route = { stepUp: false, params: NOTHING, query: NOTHING, body: NOTHING, ...given }
  return route as unknown as ConsoleRoute<P, Q, B, R> & { readonly access: A }
}

/** What a caller gives, before it is read: in the console. */
export interface CallOf<Route extends ConsoleRoute> {
  readonly params: z.input<Route['params']>
  readonly query: z.input<Route['query']>
  readonly body: z.input<Route['body']>
}

/** What a handler is given, read and checked: in the server. */
export interface InputOf<Route extends ConsoleRoute> {
  readonly params: z.output<Route['params']>
  readonly query: z.output<Route['query']>
  readonly body: z.output<Route['body']>
}

export type ReplyOf<Route extends ConsoleRoute> = z.output<Route['reply']>
