import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'
import { instant, ofAccount } from './shapes.ts'
import { plain } from './viewer-text.ts'

/** A sandbox connection. Its deliveries stay visible after it is removed. */
const sandbox = z.object({
  id: plain,
  number: plain,
  name: plain.nullable(),
  state: z.enum(['active', 'paused', 'removed']),
  /** When its newest delivery came; null: it has none. */
  lastAt: instant.nullable(),
})
export type Sandbox = z.output<typeof sandbox>

/** A recipient number that simulates a failure. */
const sandboxCommand = z.object({
  recipient: plain,
  /** What happens and how it ends, as texts. */
  happens: plain,
  ends: plain,
})
export type SandboxCommandView = z.output<typeof sandboxCommand>

const messageType = z.enum(['message', 'image', 'document', 'video', 'audio'])

/** The deliveries to one recipient through one connection. */
const chat = z.object({
  to: z.string(),
  lastType: messageType,
  /** The text, the caption or the name of the file, cut short. */
  lastText: z.string(),
  lastAt: instant,
  /** How many deliveries were read. */
  count: z.int(),
})
export type Chat = z.output<typeof chat>

const chats = z.object({
  items: z.array(chat),
  next: z.string().nullable(),
  /** How many of the newest deliveries were read, and whether these are all. */
  scanned: z.int(),
  isAll: z.boolean(),
})

const deliveredMedia = z.object({
  name: z.string(),
  caption: z.string().nullable(),
  sizeBytes: z.int().nullable(),
  /** Detected from the bytes when it was fetched. */
  mime: z.string().nullable(),
  sha256: z.string().nullable(),
  /** False: no copy was kept, because it was too large. True does not guarantee that the copy still exists. */
  isCopied: z.boolean(),
})

/** A bubble. A message that was delivered twice has two of them. */
const delivery = z.object({
  /** Made of message and attempt, unique in the inbox. */
  key: z.string(),
  messageId: z.string(),
  attempt: z.int(),
  at: instant,
  type: messageType,
  text: z.string().nullable(),
  media: deliveredMedia.nullable(),
  /** The current state of its message; null when the message is deleted. */
  state: z.string().nullable(),
  /** The id of its entry in the API log; null when it has none. */
  requestId: z.string().nullable(),
})
export type Delivery = z.output<typeof delivery>

const conversation = z.object({
  /** In order of delivery, the oldest of this page first. */
  items: z.array(delivery),
  /** The cursor of the page before this one; null at the beginning. */
  next: z.string().nullable(),
})

const deliveryTimeline = delivery.extend({
  connection: z.string(),
  to: z.string(),
  /** The exact body of the request; null when it is deleted. */
  body: z.string().nullable(),
  acceptedAt: instant.nullable(),
  publishedAt: instant.nullable(),
  deliveredAt: instant.nullable(),
  readAt: instant.nullable(),
})
export type DeliveryTimeline = z.output<typeof deliveryTimeline>

const wantedPage = z.object({
  /** The `next` of an earlier page. Left out: the newest page. */
  before: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional(),
})

/** Only characters of ids, so that other values never reach the database. */
const id = z.string().regex(/^[\w#-]{1,100}$/)
const ofConnection = ofAccount.extend({ connection: id })

// What was delivered are texts and numbers, which viewers do not get to see in the API log either.
export const sandboxRoutes = {
  /** The sandbox connections of the account, and the recipients that fail on request. */
  listSandboxes: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sandbox',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ connections: z.array(sandbox), commands: z.array(sandboxCommand) }),
  }),
  /** The recipients of what was delivered last, newest first. */
  listChats: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sandbox/:connection/chats',
    access: 'developer',
    params: ofConnection,
    /** `find`: only deliveries with these digits in their number, or with this in their text or file name. */
    query: wantedPage.extend({ find: z.string().trim().max(100).optional() }),
    reply: chats,
  }),
  /** What one recipient got, the newest page first. A page may be short, or even empty, while `next` goes on further back. */
  readConversation: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sandbox/:connection/chats/:to',
    access: 'developer',
    params: ofConnection.extend({ to: z.string().regex(/^\d{1,20}$/) }),
    query: wantedPage,
    reply: conversation,
  }),
  /** Has the sandbox report all unread messages of the recipient as read, within seconds. */
  markChatRead: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/sandbox/:connection/chats/:to/read',
    access: 'developer',
    params: ofConnection.extend({ to: z.string().regex(/^\d{1,20}$/) }),
    reply: z.object({ count: z.int() }),
  }),
  /** Deletes what was delivered, but not where its message is still being sent or unconfirmed: there it is evidence. */
  clearInbox: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/sandbox/:connection/clear',
    access: 'developer',
    params: ofConnection,
    reply: z.object({ count: z.int() }),
  }),
  /** One delivery with its payload and its receipts. */
  explainDelivery: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sandbox/:connection/deliveries/:key',
    access: 'developer',
    params: ofConnection.extend({ key: id }),
    reply: deliveryTimeline,
  }),
  /** The copy of what was delivered. Answers `Range`, for players. */
  readSandboxMedia: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/sandbox/:connection/media/:message',
    access: 'developer',
    params: ofConnection.extend({ message: id }),
    reply: RAW,
  }),
} as const
