import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { done, instant, ofAccount } from './shapes.ts'
import { maskedText, plain } from './viewer-text.ts'

export const OVERVIEW_RANGES = ['1h', '24h', '7d', '30d'] as const
export type OverviewRange = (typeof OVERVIEW_RANGES)[number]

const tallies = z.object({
  published: z.int(),
  waiting: z.int(),
  failed: z.int(),
  unconfirmed: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  refused: z.int(),
})

const overview = z.object({
  now: instant,
  range: z.enum(OVERVIEW_RANGES),
  /** The chart begins here; it may be a little before the range does, because it begins with a whole bar. */
  from: instant,
  /** How long one bar is; a day on which the clocks are set is an hour shorter or longer. */
  barMs: z.int(),
  bars: z.array(tallies.extend({ at: instant })),
  totals: tallies.extend({ accepted: z.int() }),
  /** As of when bars and totals are; null: nothing has been counted yet. */
  countedAt: instant.nullable(),
  /** False while hours of the range are still to be counted for the first time. */
  isComplete: z.boolean(),
  waiting: z.object({
    count: z.int(),
    /** True: there are more than could be counted in a moment. */
    isMore: z.boolean(),
    oldestAt: instant.nullable(),
  }),
  /** From acceptance to publication, of the newest published ones; null when there are none. */
  latency: z.object({ messages: z.int(), p50Ms: z.int(), p95Ms: z.int() }).nullable(),
  /** That have something to do, those that stand still and have waited longest first. */
  lanes: z.array(
    z.object({
      connectionId: plain,
      number: plain,
      state: z.enum(['active', 'paused']),
      waiting: z.int(),
      isMore: z.boolean(),
      oldestAt: instant.nullable(),
      /** Why it stands still: a code of core/reasons.ts; null while it moves. */
      reason: plain.nullable(),
      /** What that means, which may be what a server said, and what to do. */
      meaning: maskedText.nullable(),
      whatToDo: plain.nullable(),
      /** The network's own words. */
      words: maskedText.nullable(),
      until: instant.nullable(),
    }),
  ),
  /** How many lanes are left out. */
  furtherLanes: z.int(),
  /** Those that end within 14 days, or ended within the last 7, by their end. */
  endingTokens: z.array(z.object({ id: plain, name: plain, prefix: plain, expiresAt: instant })),
  /** Why nothing is sent on any lane until a person releases them (G12). */
  hold: z.object({ since: instant, reason: plain }).nullable(),
  attention: z.object({
    /** How far back was looked: to the beginning of the range, or less where there is very much. */
    from: instant,
    groups: z.array(
      z.object({
        state: z.enum(['FAILED', 'UNCONFIRMED', 'EXPIRED']),
        reason: plain.nullable(),
        meaning: plain.nullable(),
        whatToDo: plain.nullable(),
        count: z.int(),
        latestAt: instant,
      }),
    ),
  }),
  /** What a new account has done on its way to the first message; null once somebody has seen a message in the log. */
  firstSteps: z.object({ connection: z.boolean(), token: z.boolean(), message: z.boolean() }).nullable(),
})
export type OverviewReply = z.output<typeof overview>

const ownTimes = z.object({ bodiesDays: z.int().nullable(), messagesDays: z.int().nullable() })

const retention = z.object({
  now: instant,
  messages: z.int(),
  /** As of when they were counted; null: not yet. */
  countedAt: instant.nullable(),
  /** False while older hours are still to be counted for the first time. */
  isComplete: z.boolean(),
  oldestAt: instant.nullable(),
  /** Media that were fetched and wait until they are sent. */
  spool: z.object({ files: z.int(), bytes: z.int(), isMore: z.boolean() }),
  /** Null where other accounts live in the same database: its size would tell of them. */
  databaseBytes: z.int().nullable(),
  /** Days, as the installation has it; 0: for ever. */
  installation: z.object({ bodiesDays: z.int(), messagesDays: z.int(), auditDays: z.int() }),
  /** Days that the account wants instead, where that is less. */
  own: ownTimes,
  /** Nothing is deleted before; null: it goes on. */
  waitsUntil: instant.nullable(),
  waitsFor: z.enum(['copy', 'pause']).nullable(),
  /** The last time that what is old was deleted. */
  lastSweptAt: instant.nullable(),
})
export type RetentionReply = z.output<typeof retention>

export const overviewRoutes = {
  readOverview: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/overview',
    access: 'viewer',
    params: ofAccount,
    query: z.object({
      range: z.enum(OVERVIEW_RANGES).default('24h'),
      /** Bars and totals of this connection alone. */
      connection: z.string().optional(),
      /** Where the reader is, such as Europe/Berlin, so that a day's bar is their day. */
      zone: z.string().max(64).optional(),
      /** Minutes that the reader's clock is ahead of UTC, where the zone is not known. */
      offset: z.coerce.number().int().min(-840).max(840).default(0),
    }),
    reply: overview,
  }),
  /** A message was opened in the log: the first steps of the account are over. */
  noteMessageSeen: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/overview/message-seen',
    access: 'developer',
    params: ofAccount,
    reply: done,
  }),
  readRetention: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/retention',
    access: 'viewer',
    params: ofAccount,
    reply: retention,
  }),
  /** Null: as the installation has it. Written to the audit log. */
  changeRetention: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/retention',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    body: ownTimes,
    reply: ownTimes,
  }),
} as const
