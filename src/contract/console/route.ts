import { z } from 'zod'

/** The roles of a person in an account. Each includes the rights of those before it. */
export const ROLES = ['viewer', 'developer', 'owner'] as const
export type Role = (typeof ROLES)[number]

/**
 * Who may call a route. `public`: also people who are not signed in. `person`: every signed-in person, for themselves. A
 * role: people with this role or a higher one in the account of the path; for all others the account does not exist.
 */
export type Access = 'public' | 'person' | Role

const KIB = 1024
// The longest name, e-mail address, password and link secret have 5 KiB together, the response of a passkey 2 KiB.
const MAX_BODY_BYTES_PUBLIC = 8 * KIB
// No form is larger, and the slowest JSON of this size is parsed within 20 ms.
const MAX_BODY_BYTES_SIGNED_IN = 64 * KIB

/** The body limit of a route. Small for public routes, whose callers are unknown. */
export function maxBodyBytes(access: Access): number {
  return access === 'public' ? MAX_BODY_BYTES_PUBLIC : MAX_BODY_BYTES_SIGNED_IN
}

/** One route of the console's private API. All of them are under `/console/api`. */
export interface ConsoleRoute<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/console/api`, with the `:names` of `params`. Routes of an account begin with `/accounts/:account/`. */
  readonly path: `/${string}`
  readonly access: Access
  /** True for sensitive actions: the person must have confirmed their identity within the last minutes. */
  readonly stepUp: boolean
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** The body of a 200. `RAW` if it is no JSON: a stream of events, a file. */
  readonly reply: Reply
}

/** For replies that their handler writes and that are no JSON. */
export const RAW = z.custom<never>(() => true)

const NOTHING = z.object({})

type Given<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> = Pick<
  ConsoleRoute<P, Q, B, R>,
  'method' | 'path' | 'reply'
> & { readonly stepUp?: true; readonly params?: P; readonly query?: Q; readonly body?: B }

/** Defaults: no step-up, no parameters, no query and no body. */
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

/** The input of a call in the console, before it is parsed. */
export interface CallOf<Route extends ConsoleRoute> {
  readonly params: z.input<Route['params']>
  readonly query: z.input<Route['query']>
  readonly body: z.input<Route['body']>
}

/** The parsed input of a handler in the server. */
export interface InputOf<Route extends ConsoleRoute> {
  readonly params: z.output<Route['params']>
  readonly query: z.output<Route['query']>
  readonly body: z.output<Route['body']>
}

export type ReplyOf<Route extends ConsoleRoute> = z.output<Route['reply']>
