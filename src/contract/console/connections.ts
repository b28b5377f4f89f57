import { z } from 'zod'
import { checkNumber } from '../field-rules.ts'
import { laneSettings } from './lane-settings.ts'
import { consoleRoute } from './route.ts'
import { inAccount, instant, ofAccount, page } from './shapes.ts'
import { maskedNumber, maskedText, notForViewers, plain } from './viewer-text.ts'

/** A number that is exact while it is small. `isMore`: there are at least so many. */
const boundedCount = z.object({ count: z.int(), isMore: z.boolean() })
export type BoundedCount = z.output<typeof boundedCount>

/** Why a lane stands still, and what to do. */
export const laneWait = z.object({
  /** A code of docs/reasons.md. */
  code: plain,
  /** May be what a server said. */
  sentence: maskedText,
  nextStep: plain,
  /** The network's own words. */
  words: maskedText.nullable(),
  /** Null: until something happens. */
  until: instant.nullable(),
  /** Whether a person may end the wait before its time. */
  canBeEnded: z.boolean(),
})
export type LaneWaitView = z.output<typeof laneWait>

/** What was seen of a lane's speed. Only so far back as could be looked at quickly. */
export const pace = z.object({
  publishedInLastMinute: boundedCount,
  /** When the network last took a message of this connection; null when none was found. */
  lastPublishedAt: instant.nullable(),
  /** How long a message takes on average, as far as one can tell, in milliseconds; null when nobody can. */
  perMessageMs: z.number().nullable(),
})
export type PaceView = z.output<typeof pace>

const connectionRow = z.object({
  id: plain,
  number: plain,
  channel: plain,
  state: z.enum(['active', 'paused']),
  /** With the message that is being handed over. */
  waiting: boundedCount,
  oldestWaitingAt: instant.nullable(),
  pace,
  /** Null while the lane moves or has nothing to do. */
  wait: laneWait.nullable(),
})
export type ConnectionRow = z.output<typeof connectionRow>

/** How many were taken out of a lane. `unconfirmed`: handed over before with an unknown fate, so they may have arrived. */
const takenOut = z.object({ cancelled: z.int(), unconfirmed: z.int() })
export type TakenOutView = z.output<typeof takenOut>

/** One setting that a channel has for each of its connections. */
const channelSetting = z.object({
  name: plain,
  label: plain,
  help: plain,
  /** A secret is written and never shown. A switch is `on` or `off`. */
  kind: z.enum(['duration', 'text', 'secret', 'switch']),
  /** A connection cannot be added without it. */
  isRequired: z.boolean(),
  /** What it is when it is left out, as one would write it. */
  unset: plain,
})
export type ChannelSetting = z.output<typeof channelSetting>

const channelView = z.object({
  name: plain,
  label: plain,
  description: plain,
  settings: z.array(channelSetting),
  /** Its network must be told an address for callbacks. */
  hasCallbacks: z.boolean(),
  /** Its network approves message forms beforehand, and `listConnectionTemplates` lists them. */
  hasTemplates: z.boolean(),
})
export type ChannelView = z.output<typeof channelView>

/** Something that the network says of a connection. */
const connectionFact = z.object({
  label: plain,
  value: plain,
  /** `warning`: it works, and something should be looked at. */
  tone: z.enum(['plain', 'good', 'warning', 'bad']),
})
export type ConnectionFactView = z.output<typeof connectionFact>

/** Where the network is to send its callbacks. */
const connectionCallback = z.object({
  url: plain,
  /** False when it is known that a network cannot reach it. `problem` then says why, and what to do. */
  isReachable: z.boolean(),
  problem: plain.nullable(),
  /** When the network last called back about the connection, to within a minute. Null: never. */
  lastReportAt: instant.nullable(),
})
export type ConnectionCallbackView = z.output<typeof connectionCallback>

/** A message form that the network has approved, or not yet. */
const connectionTemplate = z.object({
  name: plain,
  language: plain,
  /** As the network words it, such as APPROVED. */
  status: plain,
  category: plain,
  /** What it begins with: `text`, `image`, `document`, `video`, `location`; null when it has no header. */
  header: plain.nullable(),
  body: plain,
  /** The setting of the connection it could be named in, such as `template_text`; null when in none, and then why not. */
  fits: plain.nullable(),
  why: plain.nullable(),
})
export type ConnectionTemplateView = z.output<typeof connectionTemplate>

const connectionView = connectionRow.extend({
  lane: laneSettings,
  /** As one would write them. A secret one only says that it is set. */
  channelSettings: z.array(channelSetting.extend({ value: plain.nullable(), isSet: z.boolean() })),
  hasTemplates: z.boolean(),
  /** What the network said when it was last asked, and what it has reported by itself since. */
  facts: z.array(connectionFact),
  /** When it was last asked; null: never, or the channel has no network. */
  checkedAt: instant.nullable(),
  /** Null where the network needs none, and for viewers: only who changes connections needs to know it. */
  callback: notForViewers(connectionCallback),
  createdAt: instant,
  /** How many UNCONFIRMED ones of it wait for a person. */
  unresolved: boundedCount,
})
export type ConnectionView = z.output<typeof connectionView>

/** A message that is being handed over. */
const openMessage = z.object({
  id: plain,
  to: maskedNumber,
  type: plain,
  attempt: z.int(),
  since: instant,
  acceptedAt: instant,
  /** Until when the channel is asked whether it arrived; null while it is being handed over. */
  evidenceUntil: instant.nullable(),
  words: maskedText.nullable(),
})

export const waitingMessage = z.object({
  id: plain,
  to: maskedNumber,
  type: plain,
  acceptedAt: instant,
  expiresAt: instant,
  attempts: z.int(),
  /** 1 is the head of the lane. */
  position: z.int(),
  /** When its turn comes, by the pace of the lane; null when nobody can tell. */
  estimatedAt: instant.nullable(),
})
export type WaitingMessage = z.output<typeof waitingMessage>

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
  sentence: plain,
  words: maskedText.nullable(),
})
export type UnresolvedMessage = z.output<typeof unresolvedMessage>

const senderNumber = z.string().superRefine((value, context) => {
  const finding = checkNumber(value)
  if (finding) context.addIssue({ code: 'custom', message: finding.message })
})

const cursor = z.string().max(64).optional()
// Access tokens of networks may be longer than most texts.
const channelSettings = z.record(z.string().max(64), z.string().max(4_096))

export const connectionRoutes = {
  /** By number. Removed ones are not among them. */
  listConnections: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections',
    access: 'viewer',
    params: ofAccount,
    /** `find`: the digits a number begins with. */
    query: z.object({ after: cursor, find: z.string().max(15).optional() }),
    reply: page(connectionRow),
  }),
  /** The networks that this server can reach. */
  listChannels: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/channels',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ channels: z.array(channelView) }),
  }),
  /**
   * Asks the network first whether the settings work, which may take up to 15 seconds. With the credentials of a network
   * it also wants a fresh proof of who asks (`step_up_required`); the sandbox does not.
   */
  addConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections',
    access: 'developer',
    params: ofAccount,
    body: z.object({
      number: senderNumber,
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
  changeLane: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/connections/:id/lane',
    access: 'developer',
    params: inAccount,
    body: laneSettings,
    reply: connectionView,
  }),
  /**
   * Those that are named; an empty text takes one back. What is left out stays as it is. Asks the network first, as adding
   * does. `alsoChanged`: numbers of other connections that got the same new callback secret, because they share the
   * address for callbacks and the network took it from them too. `notChanged`: numbers of those that share the address
   * and keep their own. Refused with `connection_changed` when somebody else changed it meanwhile.
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
  /** Asks the network now, which may take up to 15 seconds. Refused with what is to be mended when the settings no longer work. */
  checkConnection: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/check',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /** Asks the network now. Empty where it has none. */
  listConnectionTemplates: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/connections/:id/templates',
    access: 'developer',
    params: inAccount,
    reply: z.object({ templates: z.array(connectionTemplate) }),
  }),
  /**
   * A long lane is cancelled in parts, so that nobody waits long: while `isRemoved` is false, ask again. In between the
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
    reply: z.object({
      open: openMessage.nullable(),
      /** In the order in which they will be sent. */
      items: z.array(waitingMessage),
      next: plain.nullable(),
    }),
  }),
  /** Ends the lane's wait now, whatever it waits for but a person, its pace, media or quiet hours. */
  endWait: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/end-wait',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /** Lets a backlog drain that waits for a person, because its lane stood still for long. */
  confirmBacklog: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/confirm-backlog',
    access: 'developer',
    params: inAccount,
    reply: connectionView,
  }),
  /**
   * Cancels what waits, but what is being handed over, in parts: while `upTo` is not null, ask again with it. What is
   * accepted after the first part stays. `olderThanMs`: only what was accepted longer ago than that when the first part was
   * asked for; a further part needs no more than its `upTo`.
   */
  cancelWaiting: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/connections/:id/cancel-waiting',
    access: 'developer',
    params: inAccount,
    body: z.object({ upTo: z.string().max(64).nullable(), olderThanMs: z.int().positive().optional() }),
    reply: takenOut.extend({ upTo: plain.nullable() }),
  }),
  /** UNCONFIRMED ones that nobody has resolved, newest first. A page may be short of what there is: go on while `next` is not null. */
  listUnresolved: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/unresolved',
    access: 'viewer',
    params: ofAccount,
    query: z.object({ after: cursor, connection: z.string().max(64).optional() }),
    reply: page(unresolvedMessage),
  }),
} as const
