import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { done, instant, ofAccount } from './shapes.ts'
import { maskedText, plain } from './viewer-text.ts'

export const OVERVIEW_RANGES = ['1h', '24h', '7d', '30d'] as const
export type OverviewRange = (typeof OVERVIEW_RANGES)[number]

/** How many, by result. */
export const tallies = z.object({
  published: z.int(),
  waiting: z.int(),
  failed: z.int(),
  unconfirmed: z.int(),
  expired: z.int(),
  cancelled: z.int(),
  refused: z.int(),
})

export const totals = tallies.extend({ accepted: z.int() })
export type Totals = z.output<typeof totals>

const overview = z.object({
  now: instant,
  range: z.enum(OVERVIEW_RANGES),
  /** The beginning of the chart, which may be a little before that of the range, because the first bar is whole. */
  from: instant,
  /** The length of a bar; a day on which the clocks change is an hour shorter or longer. */
  barMs: z.int(),
  bars: z.array(tallies.extend({ at: instant })),
  totals,
  /** The time up to which bars and totals are counted; null: nothing has been counted yet. */
  countedAt: instant.nullable(),
  /** False while some hours of the range are not counted yet. */
  isComplete: z.boolean(),
  waiting: z.object({
    count: z.int(),
    /** True: there are more than could be counted quickly. */
    isMore: z.boolean(),
    oldestAt: instant.nullable(),
  }),
  /** From acceptance to publication, of the newest published ones; null when there are none. */
  latency: z.object({ messages: z.int(), p50Ms: z.int(), p95Ms: z.int() }).nullable(),
  /** Lanes with waiting messages, stopped ones and those that have waited longest first. */
  lanes: z.array(
    z.object({
      connectionId: plain,
      number: plain,
      name: plain.nullable(),
      state: z.enum(['active', 'paused']),
      waiting: z.int(),
      isMore: z.boolean(),
      oldestAt: instant.nullable(),
      /** Why it is not sending: a code of core/reasons.ts; null while it is. */
      reason: plain.nullable(),
      /** Its meaning, and what to do. */
      meaning: maskedText.nullable(),
      whatToDo: maskedText.nullable(),
      until: instant.nullable(),
    }),
  ),
  /** How many lanes are left out. */
  furtherLanes: z.int(),
  /** Why all lanes are held until a person releases them (G12). */
  hold: z.object({ since: instant, reason: plain, mayRelease: z.boolean() }).nullable(),
  /** The steps to the first message that a new account has done; null once a person has seen a message in the log. */
  firstSteps: z
    .object({
      connection: z.boolean(),
      token: z.boolean(),
      message: z.boolean(),
      /** Whether the first start has done a step, and not a person. */
      byFirstStart: z.object({ connection: z.boolean(), token: z.boolean() }),
    })
    .nullable(),
})
export type OverviewReply = z.output<typeof overview>

const ownTimes = z.object({ bodiesDays: z.int().nullable(), messagesDays: z.int().nullable() })

const retention = z.object({
  now: instant,
  messages: z.int(),
  /** When they were counted; null: not yet. */
  countedAt: instant.nullable(),
  /** False while some older hours are not counted yet. */
  isComplete: z.boolean(),
  oldestAt: instant.nullable(),
  /** Fetched media that wait to be sent. */
  spool: z.object({ files: z.int(), bytes: z.int(), isMore: z.boolean() }),
  /** Null if other accounts share the database, because its size would reveal something about them. */
  databaseBytes: z.int().nullable(),
  /** Retention periods of the installation in days; 0: for ever. */
  installation: z.object({ bodiesDays: z.int(), messagesDays: z.int(), auditDays: z.int() }),
  /** Shorter periods of the account in days. */
  own: ownTimes,
  /** Nothing is deleted before this time; null: deletion is running. */
  waitsUntil: instant.nullable(),
  waitsFor: z.enum(['copy', 'pause']).nullable(),
  /** When old data was last deleted. */
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
      /** The reader's time zone, such as Europe/Berlin, so that a day's bar is their day. */
      zone: z.string().max(64).optional(),
      /** Minutes that the reader's clock is ahead of UTC, if the zone is unknown. */
      offset: z.coerce.number().int().min(-840).max(840).default(0),
    }),
    reply: overview,
  }),
  /** A message was opened in the log, so the first steps of the account are done. */
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
  /** Lets all numbers send again after a hold (G12). Only where no other account is held, too. Written to the audit log. */
  releaseHold: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/hold/release',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    reply: done,
  }),
  /** Null: the period of the installation. Written to the audit log. */
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
