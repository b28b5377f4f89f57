import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'
import { done, inAccount, instant, ofAccount, page } from './shapes.ts'
import { TALLIED } from './tallied.ts'
import {
  maskedBody,
  maskedFileName,
  maskedNumber,
  maskedText,
  maskedType,
  maskedUrl,
  notForViewers,
  plain,
} from './viewer-text.ts'

/** What may have become of a message. */
const LOG_STATES = [
  'QUEUED',
  'SENDING',
  'PUBLISHED',
  'DELIVERED',
  'READ',
  'FAILED',
  'UNCONFIRMED',
  'EXPIRED',
  'CANCELLED',
] as const
export const LOG_TYPES = ['message', 'image', 'document', 'video', 'audio'] as const

/**
 * The tabs. `attention`: nobody knows whether it arrived, and nobody has said so. `failed`: did not arrive. `rejected`:
 * requests that made no message.
 */
export const LOG_VIEWS = ['all', 'attention', 'failed', 'rejected'] as const

/**
 * What the overview counts as one figure, each message and each refused request once: a repeat of a request is in none.
 * `accepted` is every message, `all` also what was refused.
 */
const LOG_RESULTS = [...TALLIED, 'accepted', 'all'] as const

/** What is looked for in the API log. What is left out filters nothing. */
export const logFilter = z.object({
  view: z.enum(LOG_VIEWS).default('all'),
  state: z.enum(LOG_STATES).optional(),
  result: z.enum(LOG_RESULTS).optional(),
  /** `yes`: only messages that nobody has resolved or sent again. */
  open: z.literal('yes').optional(),
  status: z
    .string()
    .regex(/^[1-5](xx|[0-9][0-9])$/, 'Give an HTTP status such as 400, or a class such as 4xx.')
    .optional(),
  /** The sender number. */
  connection: z.string().max(40).optional(),
  /** The id of a token. */
  token: z.string().max(64).optional(),
  type: z.enum(LOG_TYPES).optional(),
  to: z
    .string()
    .regex(/^[0-9]{1,15}\*?$/, 'Give the digits of a number, or its beginning with a * behind it.')
    .optional(),
  /** Both ends belong to it. */
  since: z.coerce.number().int().nonnegative().optional(),
  until: z.coerce.number().int().nonnegative().optional(),
  /** The code of the reason for which a message ended as it did, all of it. */
  reason: z.string().trim().min(1).max(100).optional(),
  /** Stands in what was wrong: in a code, in what the caller was told, or in the network's words. */
  text: z.string().trim().min(1).max(200).optional(),
  /** The id of a message or of a request. */
  id: z.string().trim().min(1).max(64).optional(),
})
export type LogFilterOutput = z.output<typeof logFilter>

const logError = z.object({ field: plain.nullable(), code: plain, message: maskedText })

export const logEntry = z.object({
  /** Names its page: the id of the message where it made one, else that of the request. A sum has one of its own. */
  id: plain,
  /** Null: a person made this message of another, at the console or at the CLI; or it is a sum. */
  requestId: plain.nullable(),
  receivedAt: instant,
  /** The HTTP status, the code such as `HC-1` and its name such as `success_200`. Null of what a person made. */
  status: z.int().nullable(),
  code: plain.nullable(),
  name: plain.nullable(),
  outcome: z.enum(['accepted', 'repeated', 'refused', 'copied']),
  /** Who made this message of another: a person, the command line, or Nuncio by itself. Null of what came with a request. */
  madeBy: plain.nullable(),
  /** Who sent this message again: a person, the command line, or Nuncio by itself, as a template. Null: nobody. */
  resentBy: plain.nullable(),
  /** What the caller was told, where it was refused. */
  errors: z.array(logError),
  messageId: plain.nullable(),
  /** How the message stands now; null where there is none. */
  state: z.enum(LOG_STATES).nullable(),
  /** Why it ended as it did; null while it waits, or where there is nothing to say. */
  reason: z.object({ code: plain, meaning: plain }).nullable(),
  /** Of a refused request these three are what the caller wrote, right or wrong: `from` may be the recipient. */
  from: maskedNumber.nullable(),
  to: maskedNumber.nullable(),
  type: maskedType.nullable(),
  connectionId: plain.nullable(),
  token: z.object({ id: plain, name: plain }).nullable(),
  tookMs: z.number().nullable(),
  attempts: z.int().nullable(),
  /**
   * Not one request but so many, with one token and refused for one reason, that are not listed one by one because the
   * account was refused too much. They came between `since` and `receivedAt`. Null: it is one.
   */
  summed: z.object({ requests: z.int(), since: instant }).nullable(),
})
export type LogEntry = z.output<typeof logEntry>

const logPage = page(logEntry).extend({
  /** With a `next`: everything since then has been looked through, so what is missing here does not exist. */
  scannedBackTo: instant.nullable(),
})

const logFact = z.object({ name: plain, value: plain })

/** One moment in the life of a message, in plain words. */
const logTimelineEntry = z.object({
  at: instant,
  /** Since the message was accepted. */
  offsetMs: z.int().min(0),
  kind: plain,
  title: plain,
  /** How it went: for its colour. */
  tone: z.enum(['plain', 'good', 'wait', 'bad']),
  code: plain.nullable(),
  /** May be what a server said. */
  meaning: maskedText.nullable(),
  /** The network's or the host's own words. */
  words: maskedText.nullable(),
  facts: z.array(logFact),
  /** By which a recipient or a file could be recognised. */
  privateFacts: notForViewers(z.array(logFact)),
})
export type LogTimelineEntry = z.output<typeof logTimelineEntry>

const header = z.object({ name: plain, value: plain })

export const logDetail = z.object({
  entry: logEntry,
  /** Recipients and texts are left out for who may not see them. */
  isMasked: z.boolean(),
  /** What became of it, in one sentence. */
  sentence: maskedText,
  /** When texts, captions, URLs and file names were deleted, because their time was over; null while they are there. */
  bodyDeletedAt: instant.nullable(),
  request: z
    .object({
      method: plain,
      url: plain,
      headers: z.array(header),
      /** As it came; null when it was not read, is no text, or was deleted. */
      body: maskedBody.nullable(),
      remoteAddress: plain.nullable(),
      userAgent: plain.nullable(),
      /** Does the same again, with $API_TOKEN for the token. */
      curl: notForViewers(plain),
    })
    .nullable(),
  reply: z.object({ status: z.int(), headers: z.array(header), body: maskedText }).nullable(),
  message: z
    .object({
      id: plain,
      state: z.enum(LOG_STATES),
      acceptedAt: instant,
      /** Why it stands as it stands, with what to do. */
      reason: z.object({ code: plain, meaning: maskedText, nextStep: plain, words: maskedText.nullable() }).nullable(),
      /** What was done about it since, such as that it was sent again; null: nothing. */
      done: maskedText.nullable(),
      /** Why its whole lane stands still; null while it moves. */
      lane: z
        .object({ code: plain, meaning: maskedText, nextStep: plain, words: maskedText.nullable() })
        .extend({ until: instant.nullable() })
        .nullable(),
      /** The network has reported nothing since it took this message; null: no report is missing. */
      reportsMissing: z.object({ meaning: plain, nextStep: plain }).nullable(),
      /** 1 is next; null when it no longer waits. */
      position: z.int().nullable(),
      expiresAt: instant.nullable(),
      connection: z.object({
        id: plain,
        number: plain,
        channel: plain,
        state: z.enum(['active', 'paused', 'removed']),
      }),
      resendOf: plain.nullable(),
      resentAs: plain.nullable(),
      actions: z.array(z.enum(['cancel', 'retry', 'resolve'])),
    })
    .nullable(),
  timeline: z.array(logTimelineEntry),
  media: z
    .object({
      type: plain,
      name: maskedFileName.nullable(),
      url: maskedUrl,
      state: z.enum(['pending', 'ready', 'failed', 'forgotten']),
      sizeBytes: z.int().nullable(),
      mime: plain.nullable(),
      /** By its sum a known file would be recognised. */
      sha256: notForViewers(plain),
      tookMs: z.int().nullable(),
      tries: z.int(),
    })
    .nullable(),
})
export type LogDetail = z.output<typeof logDetail>

export const logRoutes = {
  listLog: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log',
    access: 'viewer',
    params: ofAccount,
    query: logFilter.extend({
      cursor: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(200).default(50),
    }),
    reply: logPage,
  }),
  /** The id is that of a message or of a request. */
  showLogEntry: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log/:id',
    access: 'viewer',
    params: inAccount,
    reply: logDetail,
  }),
  /**
   * Refused as the export would be, and does nothing: the browser fetches the file by itself, so the page that starts it
   * would not learn of a refusal.
   */
  checkExport: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log-export/check',
    access: 'viewer',
    stepUp: true,
    params: ofAccount,
    reply: done,
  }),
  /** A file with all that the filter finds. It is written to the audit log that somebody took it. */
  exportLog: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log-export',
    access: 'viewer',
    stepUp: true,
    params: ofAccount,
    query: logFilter.extend({ format: z.enum(['csv', 'ndjson']).default('csv') }),
    reply: RAW,
  }),
} as const
