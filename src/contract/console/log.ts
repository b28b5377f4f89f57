import { z } from 'zod'
import { tallies, totals } from './overview.ts'
import { consoleRoute, RAW } from './route.ts'
import { done, inAccount, instant, ofAccount, page } from './shapes.ts'
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

/** The states of a message. */
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
 * The tabs. `attention`: unresolved messages with an unknown result. `failed`: messages that did not arrive. `rejected`:
 * requests that made no message.
 */
export const LOG_VIEWS = ['all', 'attention', 'failed', 'rejected'] as const

/**
 * The results that the overview counts. `published` includes delivered and read messages, `waiting` includes the messages
 * that are being sent. `refused` are requests that made no message.
 */
const TALLIED = ['published', 'waiting', 'failed', 'unconfirmed', 'expired', 'cancelled', 'refused'] as const

/**
 * The figures of the overview, which count each message and each refused request once, and no repeats. `accepted` is every
 * message, `all` also the refused requests.
 */
const LOG_RESULTS = [...TALLIED, 'accepted', 'all'] as const

/** A search in the API log. Fields that are left out do not filter. */
export const logFilter = z.object({
  view: z.enum(LOG_VIEWS).default('all'),
  state: z.enum(LOG_STATES).optional(),
  result: z.enum(LOG_RESULTS).optional(),
  /** `yes`: only messages that were neither resolved nor sent again. */
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
  /** Both ends are included. */
  since: z.coerce.number().int().nonnegative().optional(),
  until: z.coerce.number().int().nonnegative().optional(),
  /** The whole code of a message's reason. */
  reason: z.string().trim().min(1).max(100).optional(),
  /** Searched in texts and file names, error codes, the errors returned to the caller, and the network's texts. */
  text: z.string().trim().min(1).max(200).optional(),
  /** The id of a message or of a request. */
  id: z.string().trim().min(1).max(64).optional(),
})
export type LogFilterOutput = z.output<typeof logFilter>

/** `list` is short. `message` is what the caller got. */
const logError = z.object({ field: plain.nullable(), code: plain, list: plain, message: maskedText })

export const logEntry = z.object({
  /** The id of its page: that of the message, or of the request if there is no message. An aggregated entry has its own id. */
  id: plain,
  /** Null if a person sent a message again in the console or at the CLI, and for an aggregated entry. */
  requestId: plain.nullable(),
  receivedAt: instant,
  /** The HTTP status, the code such as `HC-1` and its name such as `success_200`. Null for a message that a person made. */
  status: z.int().nullable(),
  code: plain.nullable(),
  name: plain.nullable(),
  outcome: z.enum(['accepted', 'repeated', 'refused', 'copied']),
  /** Who sent another message again as this one: a person, the command line, or Nuncio. Null if it came with a request. */
  madeBy: plain.nullable(),
  /** Who sent this message again: a person, the command line, or Nuncio as a template. Null: it was not sent again. */
  resentBy: plain.nullable(),
  /** The errors returned to the caller, if it was refused. */
  errors: z.array(logError),
  messageId: plain.nullable(),
  /** The current state of the message; null without a message. */
  state: z.enum(LOG_STATES).nullable(),
  /** The reason of its state; null while it waits, or when there is none. */
  reason: z.object({ code: plain, meaning: maskedText, list: plain }).nullable(),
  /** For a refused request these three are the caller's values, valid or not: `from` may be the recipient. */
  from: maskedNumber.nullable(),
  to: maskedNumber.nullable(),
  type: maskedType.nullable(),
  connectionId: plain.nullable(),
  /** `isDeleted`: the token was deleted before the request. */
  token: z.object({ id: plain, name: plain, isDeleted: z.boolean() }).nullable(),
  tookMs: z.number().nullable(),
  attempts: z.int().nullable(),
  /**
   * The entry stands for several requests with one token, refused for one reason, that are not listed one by one because the
   * account had too many refusals. They came between `since` and `receivedAt`. Null: it is a single request.
   */
  summed: z.object({ requests: z.int(), since: instant }).nullable(),
})
export type LogEntry = z.output<typeof logEntry>

/** An entry as the list shows it. Exports have no contents of messages, and so no preview. */
const logRow = logEntry.extend({
  /** What people call its connection. */
  connectionName: plain.nullable(),
  /** The first 40 characters of its text, or of the name and caption of its file. */
  preview: notForViewers(plain),
  /** It waits, and its connection is paused. */
  isPaused: z.boolean(),
  /** From its acceptance here until the network accepted it, as on its page. */
  sentAfterMs: z.int().nullable(),
})
export type LogRow = z.output<typeof logRow>

const logPage = page(logRow).extend({
  /** With a `next`: everything since then has been searched, so entries missing here do not exist. */
  scannedBackTo: instant.nullable(),
})

const logCounts = z.object({
  /** Null: without a begin, or too many to count with these filters. */
  counts: z
    .object({
      barMs: z.int(),
      /** Messages and refused requests, without repeats, by when they came. */
      bars: z.array(tallies.extend({ at: instant })),
      totals,
    })
    .nullable(),
})

export type LogCounts = NonNullable<z.output<typeof logCounts>['counts']>

const logFact = z.object({ name: plain, value: plain })

/** One entry of a message's timeline. */
const logTimelineEntry = z.object({
  at: instant,
  /** Since the message was accepted. */
  offsetMs: z.int().min(0),
  kind: plain,
  title: plain,
  /** How it went; the console colours it. */
  tone: z.enum(['plain', 'good', 'wait', 'unknown', 'bad']),
  code: plain.nullable(),
  /** May be a text of a server. */
  meaning: maskedText.nullable(),
  /** The network's or the host's own text. */
  words: maskedText.nullable(),
  facts: z.array(logFact),
  /** Facts that could identify a recipient or a file. */
  privateFacts: notForViewers(z.array(logFact)),
})
export type LogTimelineEntry = z.output<typeof logTimelineEntry>

const header = z.object({ name: plain, value: plain })

export const logDetail = z.object({
  entry: logEntry,
  /** True when recipients and texts are masked for this person. */
  isMasked: z.boolean(),
  /** What to do about each error of `entry`, in the same order; null where its message says it. */
  nextSteps: z.array(maskedText.nullable()),
  /** Whether it was sent, in one sentence, and in two or three words. */
  sentence: maskedText,
  /** One more fact, such as that it repeats another request. */
  note: maskedText.nullable(),
  short: plain,
  /** What it says: its text or caption, and the name of its file. Null: it was deleted, or cannot be read. */
  content: notForViewers(z.object({ text: plain.nullable(), fileName: plain.nullable() })),
  /** When texts, captions, URLs and file names were deleted after their retention period; null while they exist. */
  bodyDeletedAt: instant.nullable(),
  request: z
    .object({
      method: plain,
      url: plain,
      headers: z.array(header),
      /** As received; null when it was not read, is no text, or was deleted. */
      body: maskedBody.nullable(),
      remoteAddress: plain.nullable(),
      userAgent: plain.nullable(),
      /** Repeats the request, with $NUNCIO_TOKEN for the token. */
      curl: notForViewers(plain),
    })
    .nullable(),
  reply: z.object({ status: z.int(), headers: z.array(header), body: maskedText }).nullable(),
  message: z
    .object({
      id: plain,
      state: z.enum(LOG_STATES),
      acceptedAt: instant,
      /** A code of docs/reasons.md, or of a fact that has none there. Null: there is nothing to explain. */
      code: plain.nullable(),
      /** The same in a few words. */
      list: plain,
      /** Why it waits or how it ended, and what was done about it. */
      cause: maskedText.nullable(),
      nextStep: maskedText,
      /** Foreign words, and whose they are. */
      quote: z.object({ speaker: plain, words: maskedText }).nullable(),
      /** When the wait ends. */
      until: instant.nullable(),
      /** The page on which the next step is done. */
      opens: z.enum(['connection', 'connections', 'recipients', 'inbox']).nullable(),
      /** Another message that the next step is about. */
      other: plain.nullable(),
      /** 1 is next; null when it no longer waits. */
      position: z.int().nullable(),
      /** The earlier message to the same recipient that it waits for; null: none. */
      waitsFor: plain.nullable(),
      expiresAt: instant.nullable(),
      connection: z.object({
        id: plain,
        number: plain,
        name: plain.nullable(),
        channel: plain,
        state: z.enum(['active', 'paused', 'removed']),
      }),
      resendOf: plain.nullable(),
      resentAs: plain.nullable(),
      actions: z.array(z.enum(['cancel', 'retry', 'retry-now', 'mark-arrived', 'send-again', 'unblock'])),
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
      /** Hidden, because a known file can be identified by its hash. */
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
  /** How many match, by result and over time. */
  countLog: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log-counts',
    access: 'viewer',
    params: ofAccount,
    query: logFilter.extend({
      /** Minutes that the reader's clock is ahead of UTC. */
      offset: z.coerce.number().int().min(-840).max(840).default(0),
    }),
    reply: logCounts,
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
   * Has the same refusals as the export, and does nothing else: the browser downloads the file by itself, so the page would
   * not see a refusal of the download.
   */
  checkExport: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/log-export/check',
    access: 'viewer',
    stepUp: true,
    params: ofAccount,
    reply: done,
  }),
  /** A file with all entries that match the filter. Each export is written to the audit log. */
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
