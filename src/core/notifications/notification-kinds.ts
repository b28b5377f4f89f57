import type { SettledState } from '../message/message.ts'
import { explainReason, type ReasonCode, withCommand } from '../reasons.ts'
import { renderRemedy } from '../render-remedy.ts'

export interface NotificationKindFacts {
  /** The heading under which people choose it. */
  readonly group: NotificationGroup
  /** When it is sent, in one sentence. */
  readonly sentence: string
  /** An example of `data`. */
  readonly example: Readonly<Record<string, unknown>>
}

export const NOTIFICATION_GROUPS = ['messages', 'connections', 'tokens', 'alarms', 'webhooks'] as const
type NotificationGroup = (typeof NOTIFICATION_GROUPS)[number]

const MESSAGE = {
  messageId: '0197b1c2-7a3e-7c11-9d5e-2f6a4b8c0d1e',
  connectionId: 'con_4f9a0c2b7d1e',
  from: '15550001000',
  to: '15550100000',
  type: 'message',
  attempts: 1,
  acceptedAt: '2026-11-22T10:00:00.000Z',
  resendOf: null,
  reason: null,
} as const
const CONNECTION = { connectionId: 'con_4f9a0c2b7d1e', number: '15550001000', channel: 'whatsapp-cloud' } as const
const TOKEN = {
  tokenId: 'tok_8d2e6f1a9c3b',
  name: 'Shop',
  prefix: 'AbCdEfGh',
  expiresAt: '2026-12-06T10:00:00.000Z',
} as const
const CREDENTIALS = explainReason('credentials_refused', { facts: CONNECTION })
const ALARM = {
  alarm: 'lane_stalled',
  object: '15550001000',
  since: '2026-11-22T09:40:00.000Z',
  cause: CREDENTIALS.cause,
  nextStep: CREDENTIALS.nextStep,
} as const
const WEBHOOK = { webhookId: 'whk_1c5e9a7b3d2f', url: 'https://shop.example/hooks/nuncio' } as const

/** A reason as a notification gives it. */
function explained(code: ReasonCode) {
  const { from: number, to, messageId } = MESSAGE
  const reason = explainReason(code, { facts: { number, to } })
  const nextStep = renderRemedy(withCommand(reason), { number, recipient: to, messageId })
  return { reason: { code, meaning: reason.cause, nextStep, words: null } }
}

/** All kinds of notifications. docs/notices.md is printed from this table. The names are stable: never rename one. */
export const NOTIFICATION_KINDS = {
  'message.published': {
    group: 'messages',
    sentence:
      'The network accepted a message. A reason stands with it only if this became known later (evidence_found), a person said so (marked_arrived), or it may have been sent twice (possible_duplicate).',
    example: { ...MESSAGE, state: 'PUBLISHED' },
  },
  'message.delivered': {
    group: 'messages',
    sentence: 'The network reports that a message reached the recipient’s device.',
    example: { ...MESSAGE, state: 'DELIVERED' },
  },
  'message.read': {
    group: 'messages',
    sentence: 'The network reports that the recipient has read a message.',
    example: { ...MESSAGE, state: 'READ' },
  },
  'message.failed': {
    group: 'messages',
    sentence: 'A message was certainly not delivered.',
    example: {
      ...MESSAGE,
      state: 'FAILED',
      ...explained('recipient_refused'),
    },
  },
  'message.unconfirmed': {
    group: 'messages',
    sentence: 'It is unknown whether a message was sent: a person should check it.',
    example: {
      ...MESSAGE,
      state: 'UNCONFIRMED',
      ...explained('result_unknown'),
    },
  },
  'message.expired': {
    group: 'messages',
    sentence: 'A message waited longer than its lane’s time to live, and was not sent.',
    example: {
      ...MESSAGE,
      attempts: 0,
      state: 'EXPIRED',
      ...explained('time_to_live_over'),
    },
  },
  'message.cancelled': {
    group: 'messages',
    sentence: 'A message was taken out of its lane before its turn.',
    example: {
      ...MESSAGE,
      attempts: 0,
      state: 'CANCELLED',
      ...explained('cancelled_by_person'),
    },
  },
  'connection.added': {
    group: 'connections',
    sentence: 'A connection was added to the account.',
    example: { ...CONNECTION, by: 'anna@shop.example' },
  },
  'connection.changed': {
    group: 'connections',
    sentence: 'Settings of a connection were changed. Their values are not included.',
    example: { ...CONNECTION, changed: ['policy'], by: 'anna@shop.example' },
  },
  'connection.paused': {
    group: 'connections',
    sentence: 'A connection was paused: its messages wait until it is resumed.',
    example: { ...CONNECTION, by: 'anna@shop.example' },
  },
  'connection.resumed': {
    group: 'connections',
    sentence: 'A connection was resumed: what waits on it is sent.',
    example: { ...CONNECTION, by: 'anna@shop.example' },
  },
  'connection.removed': {
    group: 'connections',
    sentence: 'A connection was removed from the account.',
    example: { ...CONNECTION, by: 'anna@shop.example' },
  },
  'token.expiring': {
    group: 'tokens',
    sentence: 'A token expires in 14, 7 or 1 days.',
    example: { ...TOKEN, daysLeft: 14 },
  },
  'token.expired': {
    group: 'tokens',
    sentence: 'A token has expired: calls made with it are refused.',
    example: TOKEN,
  },
  'alarm.raised': {
    group: 'alarms',
    sentence: 'The watchdog found something that needs attention, such as a lane that should move and does not.',
    example: ALARM,
  },
  'alarm.cleared': {
    group: 'alarms',
    sentence: 'What an alarm was about is gone.',
    example: { ...ALARM, clearedAt: '2026-11-22T10:05:00.000Z' },
  },
  'webhook.disabled': {
    group: 'webhooks',
    sentence: 'Nuncio disabled a webhook. The other webhooks of the account get this notice.',
    example: {
      ...WEBHOOK,
      code: 'failing_for_days',
      why: 'Every try of the last 3 days failed.',
      nextStep: 'Fix the receiver, then enable the webhook again.',
    },
  },
  'webhook.test': {
    group: 'webhooks',
    sentence: 'A person asked for a test. It goes to that webhook alone, whichever notices it wants.',
    example: { ...WEBHOOK, by: 'anna@shop.example' },
  },
} as const satisfies Record<string, NotificationKindFacts> &
  Record<`message.${Lowercase<SettledState>}`, NotificationKindFacts>

export type NotificationKind = keyof typeof NOTIFICATION_KINDS
export const NOTIFICATION_KIND_NAMES = Object.keys(NOTIFICATION_KINDS) as readonly NotificationKind[]
/** What a webhook can subscribe to. A test is sent only when a person asks for it. */
export const WANTABLE_KINDS = NOTIFICATION_KIND_NAMES.filter((kind) => kind !== 'webhook.test')

export function isNotificationKind(text: string): text is NotificationKind {
  return Object.hasOwn(NOTIFICATION_KINDS, text)
}
