import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { done, inAccount, instant, ofAccount, page } from './shapes.ts'
import { maskedNumber, maskedText, notForViewers, plain } from './viewer-text.ts'

const WEBHOOK_STATES = ['enabled', 'disabled', 'failing'] as const
export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'dropped'] as const

// Checked together by the service, which alone knows where it may post: so all faults are reported at once.
const typed = z.string().trim().max(10_000)

export const webhookForm = z.object({ url: typed, description: typed, kinds: z.array(z.string()).max(100) })
export type WebhookForm = z.input<typeof webhookForm>

const webhook = z.object({
  id: plain,
  url: plain,
  description: plain,
  kinds: z.array(plain),
  /** `failing`: disabled by Nuncio, because it failed for too long. */
  state: z.enum(WEBHOOK_STATES),
  stateReason: plain.nullable(),
  createdAt: instant,
  createdBy: plain,
  /** Since when every try has failed. */
  failingSince: instant.nullable(),
  /** Several tries have failed since then. Fewer may belong to a single delivery. */
  isFailing: z.boolean(),
  /** Why the last try failed, and what to do, while it is failing. */
  lastFailure: z.object({ sentence: plain, nextStep: plain }).nullable(),
  /** Deliveries that failed and are tried again, when the next is tried (null: it is due), and about when the last is given up. */
  retrying: z
    .object({ count: z.int(), isAtLeast: z.boolean(), nextTryAt: instant.nullable(), givenUpAt: instant })
    .nullable(),
  lastDeliveredAt: instant.nullable(),
  /** Until when notifications are also signed with the previous secret. */
  oldSecretUntil: instant.nullable(),
  /** Dropped because too many were waiting, since the webhook was created. */
  dropped: z.int(),
  /** Deliveries created in the last 24 hours, by their state; `isAtLeast`: there are more. */
  lastDay: z.object({
    waiting: z.int(),
    delivered: z.int(),
    failed: z.int(),
    dropped: z.int(),
    isAtLeast: z.boolean(),
  }),
})
export type WebhookReply = z.output<typeof webhook>

/** The secret is in no other reply. */
const shownSecret = z.object({ secret: plain, details: webhook })
export type ShownSecretReply = z.output<typeof shownSecret>

const delivery = z.object({
  /** Its id within the webhook. */
  position: z.int(),
  /** The header `webhook-id`. */
  notificationId: plain,
  kind: plain,
  /** The message that it is about. */
  message: z.object({ id: plain, to: maskedNumber }).nullable(),
  state: z.enum(DELIVERY_STATES),
  tries: z.int(),
  createdAt: instant,
  nextTryAt: instant.nullable(),
  endedAt: instant.nullable(),
  lastStatus: z.int().nullable(),
  lastCode: plain.nullable(),
  /** Made a moment ago, and its first try is not over. */
  isBeingSent: z.boolean(),
})
export type DeliveryRowReply = z.output<typeof delivery>

const tryRow = z.object({
  number: z.int(),
  at: instant,
  tookMs: z.int(),
  status: z.int().nullable(),
  code: plain,
  /** What the code means, and what to do. */
  sentence: plain,
  nextStep: plain,
  words: maskedText.nullable(),
  /** The beginning of the response, which may repeat the request. */
  excerpt: notForViewers(z.string()),
})
export type TryReply = z.output<typeof tryRow>

const wholeDelivery = delivery.extend({
  /** The exact body of the request. */
  payload: notForViewers(z.string()),
  tryRows: z.array(tryRow),
})
export type DeliveryReply = z.output<typeof wholeDelivery>

const inWebhook = inAccount.extend({
  position: z
    .string()
    .regex(/^\d{1,15}$/, 'This is no delivery.')
    .transform(Number),
})

export const webhookRoutes = {
  listWebhooks: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/webhooks',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ items: z.array(webhook) }),
  }),
  /** The choices of the form. */
  describeNotices: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/notices',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({
      kinds: z.array(z.object({ kind: plain, group: plain, sentence: plain, isWantable: z.boolean() })),
    }),
  }),
  readWebhook: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/webhooks/:id',
    access: 'viewer',
    params: inAccount,
    reply: webhook,
  }),
  createWebhook: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks',
    access: 'developer',
    stepUp: true,
    params: ofAccount,
    body: webhookForm,
    reply: shownSecret,
  }),
  changeWebhook: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/webhooks/:id',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: webhookForm,
    reply: webhook,
  }),
  /** The previous secret stays valid for 24 hours. If an older one is still valid, it ends at once: refused unless `endsEarlier`. */
  rotateWebhookSecret: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/secret',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    body: z.object({ endsEarlier: z.boolean() }),
    reply: shownSecret,
  }),
  setWebhookState: consoleRoute({
    method: 'PUT',
    path: '/accounts/:account/webhooks/:id/state',
    access: 'developer',
    params: inAccount,
    body: z.object({ state: z.enum(['enabled', 'disabled']) }),
    reply: webhook,
  }),
  deleteWebhook: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/deletion',
    access: 'developer',
    stepUp: true,
    params: inAccount,
    reply: done,
  }),
  testWebhook: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/test',
    access: 'developer',
    params: inAccount,
    reply: z.object({ position: z.int() }),
  }),
  listDeliveries: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/webhooks/:id/deliveries',
    access: 'viewer',
    params: inAccount,
    query: z.object({
      state: z.enum(DELIVERY_STATES).optional(),
      kind: z.string().max(100).optional(),
      after: z.string().max(100).optional(),
    }),
    /** With the webhook, whose figures count these rows. */
    reply: page(delivery).extend({ webhook }),
  }),
  readDelivery: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/webhooks/:id/deliveries/:position',
    access: 'viewer',
    params: inWebhook,
    reply: wholeDelivery,
  }),
  replayDelivery: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/deliveries/:position/replay',
    access: 'developer',
    params: inWebhook,
    reply: wholeDelivery,
  }),
  replayFailed: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/webhooks/:id/replay',
    access: 'developer',
    params: inAccount,
    body: z.object({ since: instant }),
    reply: z.object({ replayed: z.int() }),
  }),
} as const
