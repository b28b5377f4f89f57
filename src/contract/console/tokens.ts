import { z } from 'zod'
import { oneLine } from './one-line-text.ts'
import { consoleRoute } from './route.ts'
import { done, inAccount, instant, ofAccount, page } from './shapes.ts'
import { plain } from './viewer-text.ts'

const TOKEN_EXPIRATIONS = ['7d', '30d', '60d', '90d', '1y', 'date'] as const
export type TokenExpiration = (typeof TOKEN_EXPIRATIONS)[number]
const TOKEN_TABS = ['active', 'expired', 'deleted'] as const
const MOST_RANGES = 50
const MOST_CONNECTIONS = 200

/** The same rule as at the command line, so that names are readable in lists. */
export const TOKEN_NAME = { what: 'The name of a token', most: 60 }
export const tokenName = oneLine(TOKEN_NAME)

/** The end of a token: `expiresAt` only counts with `date`. */
const ending = { expiration: z.enum(TOKEN_EXPIRATIONS), expiresAt: instant.nullable() }

export const newTokenForm = z.object({
  // Checked together with the addresses, so that all faults are reported at once.
  name: z.string().trim().max(1_000),
  ...ending,
  events: z.array(z.string()).max(100),
  /** Null: all connections of the account, including future ones. */
  connectionIds: z
    .array(z.string())
    .min(1, 'Choose a connection, or leave the token unbound.')
    .max(MOST_CONNECTIONS, `A token can be bound to ${MOST_CONNECTIONS} connections.`)
    .nullable(),
  /** Null: from anywhere. */
  sourceRanges: z
    .array(z.string().trim())
    .min(1, 'Name an address, or leave the token unbound.')
    .max(MOST_RANGES, `A token can be bound to ${MOST_RANGES} ranges of addresses.`)
    .nullable(),
})

const boundConnection = z.object({
  id: plain,
  number: plain,
  name: plain.nullable(),
  channel: plain,
  state: z.enum(['active', 'paused', 'removed']),
})
export type TokenConnection = z.output<typeof boundConnection>

const tokenRow = z.object({
  id: plain,
  name: plain,
  /** The first 8 characters after `nco_`. */
  prefix: plain,
  events: z.array(plain),
  connections: z.array(boundConnection).nullable(),
  sourceRanges: z.array(plain).nullable(),
  createdAt: instant,
  createdBy: plain.nullable(),
  expiresAt: instant,
  /** To the minute. */
  lastUsedAt: instant.nullable(),
  deletedAt: instant.nullable(),
  /** The token that replaces it. */
  successorId: plain.nullable(),
})
export type TokenRowReply = z.output<typeof tokenRow>

const namedToken = z.object({ id: plain, name: plain })
const token = tokenRow.extend({
  deletedBy: plain.nullable(),
  successor: namedToken.nullable(),
  predecessor: namedToken.nullable(),
})
export type TokenReply = z.output<typeof token>

/** Counted backwards as far as can be read quickly. If not complete: “at least”, since `countedFrom`. */
const counted = { since: instant, countedFrom: instant, isComplete: z.boolean() }

const caller = z.object({
  tokenId: plain,
  address: plain.nullable(),
  userAgent: plain.nullable(),
  requests: z.int(),
  refused: z.int(),
  lastAt: instant,
})
export type TokenCallerReply = z.output<typeof caller>

const tokenUse = z.object({ ...counted, callers: z.array(caller) })
export type TokenUseReply = z.output<typeof tokenUse>

/** The most frequent values of one kind; `value` null: unknown, or none. */
const tally = z.array(z.object({ value: plain.nullable(), count: z.int() }))

const tokenActivity = tokenUse.extend({
  requests: z.int(),
  accepted: z.int(),
  /** The others are repeats of accepted ones. */
  refused: z.int(),
  numbers: tally,
  types: tally,
  /** A state of a message, or `Refused 403`. */
  results: tally,
})
export type TokenActivityReply = z.output<typeof tokenActivity>

/** The token itself is in no other reply. */
const shownOnce = z.object({ token: plain, details: token })
export type ShownTokenReply = z.output<typeof shownOnce>

export const tokenRoutes = {
  listTokens: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/tokens',
    access: 'viewer',
    params: ofAccount,
    query: z.object({ tab: z.enum(TOKEN_TABS).default('active'), after: z.string().max(100).optional() }),
    reply: page(tokenRow).extend({ counts: z.object({ active: z.int(), expired: z.int(), deleted: z.int() }) }),
  }),
  /** The callers of the account's tokens in the last 24 hours. Separate from the list, so that the list loads at once. */
  countTokenUse: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/token-use',
    access: 'viewer',
    params: ofAccount,
    query: z.object({ token: z.string().max(100).optional() }),
    reply: tokenUse,
  }),
  /** The choices of the form. */
  describeTokenForm: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/token-form',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({
      events: z.array(z.object({ event: plain, group: plain, name: plain, about: plain, endpoint: plain })),
      connections: z.array(boundConnection),
      /** Where requests go: the whole URL of the endpoint. */
      endpoint: plain,
    }),
  }),
  readToken: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/tokens/:id',
    access: 'viewer',
    params: inAccount,
    reply: token,
  }),
  /** Its activity in the last 30 days. */
  describeTokenUse: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/tokens/:id/use',
    access: 'viewer',
    params: inAccount,
    reply: tokenActivity,
  }),
  createToken: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/tokens',
    access: 'developer',
    stepUp: true,
    params: ofAccount,
    body: newTokenForm,
    reply: shownOnce,
  }),
  renameToken: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/tokens/:id',
    access: 'developer',
    params: inAccount,
    body: z.object({ name: tokenName }),
    reply: token,
  }),
  /** `oldEndsAt` null: in 7 days, or when it would have ended anyway. */
  rotateToken: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/tokens/:id/rotation',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ ...ending, oldEndsAt: instant.nullable() }),
    reply: shownOnce,
  }),
  /** `name` is typed by the person to confirm the deletion. */
  deleteToken: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/tokens/:id/deletion',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ name: z.string() }),
    reply: done,
  }),
} as const
