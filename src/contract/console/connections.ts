import { z } from 'zod'
import { CONNECTION_NAME } from './form-rules.ts'
import { lanePage, waitingPlace } from './lane-page.ts'
import { laneSettings } from './lane-settings.ts'
import { oneLine } from './one-line-text.ts'
import { phoneView } from './phone.ts'
import { consoleRoute } from './route.ts'
import { inAccount, instant, ofAccount, page } from './shapes.ts'
import { maskedNumber, maskedText, notForViewers, plain } from './viewer-text.ts'

/** Empty: none. */
const connectionName = oneLine(CONNECTION_NAME)

/** Counted exactly up to a limit. `isMore`: there are more than `count`. */
const boundedCount = z.object({ count: z.int(), isMore: z.boolean() })
export type BoundedCount = z.output<typeof boundedCount>

/** Why a lane is not sending, and what to do. */
const laneWait = z.object({
  /** A code of docs/reasons.md. */
  code: plain,
  /** The same in a few words. */
  list: plain,
  sentence: maskedText,
  nextStep: maskedText,
  /** Foreign words, and whose they are. */
  quote: z.object({ speaker: plain, words: maskedText }).nullable(),
  /** Null: until something happens. */
  until: instant.nullable(),
  /** Whether a person may end the wait early. */
  canBeEnded: z.boolean(),
})
export type LaneWaitView = z.output<typeof laneWait>

/** The measured speed of a lane, from as far back as can be read quickly. */
const pace = z.object({
  publishedInLastMinute: boundedCount,
  /** When the network last accepted a message of this connection; null when none was found. */
  lastPublishedAt: instant.nullable(),
  /** The average time per message in milliseconds; null when it is unknown. */
  perMessageMs: z.number().nullable(),
})
export type PaceView = z.output<typeof pace>

/**
 * How a connection is listed, in this order. `problem`: it waits for something that its owner did not set; `waiting`: it sends,
 * or waits by its own settings.
 */
const connectionGroup = z.enum(['problem', 'paused', 'waiting', 'ready'])
export type ConnectionGroup = z.output<typeof connectionGroup>

const connectionRow = z.object({
  id: plain,
  number: plain,
  /** What people call it; null: it has no name. */
  name: plain.nullable(),
  channel: plain,
  /** As people read it. */
  channelLabel: plain,
  state: z.enum(['active', 'paused']),
  group: connectionGroup,
  /** Includes the message that is being sent. */
  waiting: boundedCount,
  oldestWaitingAt: instant.nullable(),
  /** When the last waiting message should be sent; null: none waits, the time is unknown, or quiet hours begin before. */
  doneAt: instant.nullable(),
  pace,
  /** Null while the lane moves or has nothing to do. */
  wait: laneWait.nullable(),
})
export type ConnectionRow = z.output<typeof connectionRow>

/** How many connections one request may ask about. */
export const MOST_SENT_COUNTED = 200

/** How many messages one connection accepted since a time, and what became of them. */
const sentCount = z.object({
  connectionId: plain,
  sent: z.int(),
  /** Failed or expired. */
  notSent: z.int(),
})
export type SentCountView = z.output<typeof sentCount>

/** How many messages were removed from a lane. `unconfirmed`: an earlier attempt has an unknown result, so they may have arrived. */
const takenOut = z.object({ cancelled: z.int(), unconfirmed: z.int() })
export type TakenOutView = z.output<typeof takenOut>

/** One setting that a channel has for each of its connections. */
const channelSetting = z.object({
  name: plain,
  label: plain,
  help: plain,
  /** A secret can be set but is never shown. A switch is `on` or `off`. */
  kind: z.enum(['duration', 'text', 'secret', 'switch']),
  /** A connection cannot be added without it. */
  isRequired: z.boolean(),
  /** The default, as a person would write it. */
  unset: plain,
  /** The form can generate the value: this prefix, and this many random bytes in base64. */
  random: z.object({ prefix: plain, bytes: z.int() }).nullable(),
})
export type ChannelSetting = z.output<typeof channelSetting>

const channelView = z.object({
  name: plain,
  label: plain,
  description: plain,
  settings: z.array(channelSetting),
  /** What must run before a number can be connected. LISTEN stands for host and port of its setting `url`. */
  startFirst: z.object({ about: plain, command: plain }).nullable(),
  /** The callback address must be entered at the network. */
  hasCallbacks: z.boolean(),
  /** Its network approves templates, and `listConnectionTemplates` lists them. */
  hasTemplates: z.boolean(),
  /** Its connections are linked devices of phones. */
  isLinkedDevice: z.boolean(),
  /** What a person must know and accept before a number is connected. */
  warning: z.object({ sentences: z.array(plain), consent: plain }).nullable(),
  /** Its packages are not installed where Nuncio runs; null: they are, or there are none. */
  missing: z.object({ sentence: plain, command: plain }).nullable(),
})
export type ChannelView = z.output<typeof channelView>

/** A fact about a connection. */
const connectionFact = z.object({
  label: plain,
  value: plain,
  /** `warning`: it works but needs attention. */
  tone: z.enum(['plain', 'good', 'warning', 'bad']),
  /** Counted by Nuncio; false: the network reports it. */
  isOwn: z.boolean(),
})
export type ConnectionFactView = z.output<typeof connectionFact>

/** The address for the network's callbacks. */
const connectionCallback = z.object({
  url: plain,
  /** False when a network certainly cannot reach it. `problem` then says why, and what to do. */
  isReachable: z.boolean(),
  problem: plain.nullable(),
  /** When the network last called back about the connection, accurate to a minute. Null: never. */
  lastReportAt: instant.nullable(),
})
export type ConnectionCallbackView = z.output<typeof connectionCallback>

/** A template that the network has approved, or not yet. */
const connectionTemplate = z.object({
  name: plain,
  language: plain,
  /** The network's value, such as APPROVED. */
  status: plain,
  category: plain,
  /** The type of its header: `text`, `image`, `document`, `video`, `location`; null without a header. */
  header: plain.nullable(),
  body: plain,
  /** The setting that it fits, such as `template_text`; null when it fits none, and `why` then says why. */
  fits: plain.nullable(),
  why: plain.nullable(),
})
export type ConnectionTemplateView = z.output<typeof connectionTemplate>

const connectionView = connectionRow.extend({
  lane: laneSettings,
  /** As a person would write them. A secret only says whether it is set. */
  channelSettings: z.array(channelSetting.extend({ value: plain.nullable(), isSet: z.boolean() })),
  hasTemplates: z.boolean(),
  /** The network's answers at the last check, its reports since then, and what Nuncio counts itself. */
  facts: z.array(connectionFact),
  /** When the network was last asked; null: never, or the channel has no network. */
  checkedAt: instant.nullable(),
  /** Null if the network needs none, and for viewers, who cannot change connections. */
  callback: notForViewers(connectionCallback),
  /** Null: it is no linked device. */
  phone: phoneView.nullable(),
  createdAt: instant,
  /** How many of its UNCONFIRMED messages are unresolved. */
  unresolved: boundedCount,
})
export type ConnectionView = z.output<typeof connectionView>

const unresolvedMessage = z.object({
  id: plain,
  to: maskedNumber,
  connectionId: plain,
  connection: plain,
  type: plain,
  acceptedAt: instant,
  settledAt: instant.nullable(),
  attempts: z.int(),
  reason: plain.nullable(),
  sentence: maskedText,
  quote: z.object({ speaker: plain, words: maskedText }).nullable(),
  /** Why it cannot be sent again, and what can be done instead; null: it can be. */
  noResend: maskedText.nullable(),
})
export type UnresolvedMessage = z.output<typeof unresolvedMessage>

const cursor = z.string().max(64).optional()
// Access tokens of networks may be longer than most texts.
const channelSettings = z.record(z.string().max(64), z.string().max(4_096))

export const connectionRoutes = {
  /** Ordered by group and number, without removed ones. `counts`: how many of the account are in each group. */
  listConnections: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections',
    access: 'viewer',
    params: ofAccount,
    /** `find`: the first digits of a number, or a part of a name. */
    query: z.object({ after: cursor, find: z.string().max(60).optional(), group: connectionGroup.optional() }),
    reply: page(connectionRow).extend({
      counts: z.object({ problem: z.int(), paused: z.int(), waiting: z.int(), ready: z.int() }),
    }),
  }),
  /** The channels of this installation. */
  listChannels: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/channels',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ channels: z.array(channelView) }),
  }),
  /**
   * Checks the settings at the network first, which may take up to 15 seconds. Channels with credentials also require a
   * recent confirmation of the person's identity (`step_up_required`); the sandbox does not.
   */
  addConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections',
    access: 'developer',
    params: ofAccount,
    body: z.object({
      // Checked together with the settings, so that all faults are reported at once.
      number: z.string().max(64),
      channel: z.string().max(64),
      settings: channelSettings.default({}),
    }),
    reply: connectionView,
  }),
  readConnection: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections/:id',
    access: 'viewer',
    params: inAccount,
    reply: connectionView,
  }),
  pauseConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/pause',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  resumeConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/resume',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /** Empty: no name. */
  renameConnection: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/connections/:id/name',
    access: 'developer',
    params: inAccount,
    body: z.object({ name: connectionName }),
    reply: connectionView,
  }),
  changeLane: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/connections/:id/lane',
    access: 'developer',
    params: inAccount,
    body: laneSettings,
    reply: connectionView,
  }),
  /**
   * Changes the given settings; an empty text unsets one, and settings that are left out stay. Checks them at the network
   * first, as adding does. `alsoChanged`: numbers of other connections that got the same new callback secret, because they
   * share the callback address and the network accepted it for them. `notChanged`: numbers that share the address and keep
   * their secret. Refused with `connection_changed` when the connection was changed meanwhile.
   */
  changeChannelSettings: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/connections/:id/settings',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ settings: channelSettings }),
    reply: connectionView.extend({ alsoChanged: z.array(plain), notChanged: z.array(plain) }),
  }),
  /** Asks the network now, which may take up to 15 seconds. When the settings no longer work, the refusal says what to fix. */
  checkConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/check',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /** Asks the network now. Empty if it has none. */
  listConnectionTemplates: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections/:id/templates',
    access: 'developer',
    params: inAccount,
    reply: z.object({ templates: z.array(connectionTemplate) }),
  }),
  /**
   * A long lane is cancelled in parts, so that each request is short: repeat it while `isRemoved` is false. In between the
   * connection is paused. Refused while messages wait and `cancelWaiting` is false.
   */
  removeConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/remove',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ cancelWaiting: z.boolean() }),
    reply: takenOut.extend({ isRemoved: z.boolean() }),
  }),
  readLane: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections/:id/lane',
    access: 'viewer',
    params: inAccount,
    query: z.object({ after: cursor }),
    reply: lanePage,
  }),
  /** What became of the messages that these connections accepted since then: one item for each of the account, also without any. */
  countSent: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sent-counts',
    access: 'viewer',
    params: ofAccount,
    /**
     * Ids of connections, separated by commas; more than `MOST_SENT_COUNTED` are left out. `since` counts from the full hour,
     * at most two days back.
     */
    query: z.object({
      ids: z.string().max(8_000).default(''),
      since: z.coerce.number().int().nonnegative().default(0),
    }),
    /** `isComplete`: false while some of the hours are not counted yet. */
    reply: z.object({ items: z.array(sentCount), isComplete: z.boolean() }),
  }),
  /** Where the messages of a page stand that wait; others are left out. */
  listPlaces: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/places',
    access: 'viewer',
    params: ofAccount,
    /** Ids of messages, separated by commas. */
    query: z.object({ ids: z.string().max(8_000).default('') }),
    reply: z.object({ items: z.array(waitingPlace) }),
  }),
  /** Ends the lane's wait now, except a wait for a person, the pace, media or quiet hours. */
  endWait: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/end-wait',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /** Confirms that a backlog may be sent after its lane was stopped for long. */
  confirmBacklog: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/confirm-backlog',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /**
   * Cancels waiting messages, except the one that is being sent, in parts: while `upTo` is not null, repeat with it. Messages
   * accepted after the first part stay. `olderThanMs`: only messages that were accepted longer ago than that at the first
   * part; further parts need only `upTo`.
   */
  cancelWaiting: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/cancel-waiting',
    access: 'developer',
    params: inAccount,
    body: z.object({ upTo: z.string().max(64).nullable(), olderThanMs: z.int().positive().optional() }),
    reply: takenOut.extend({ upTo: plain.nullable() }),
  }),
  /** Unresolved UNCONFIRMED messages, newest first. A page may hold fewer than there are: continue while `next` is not null. */
  listUnresolved: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/unresolved',
    access: 'viewer',
    params: ofAccount,
    query: z.object({ after: cursor, connection: z.string().max(64).optional() }),
    reply: page(unresolvedMessage),
  }),
} as const
