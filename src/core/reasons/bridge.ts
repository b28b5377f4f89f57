import type { ReasonRow } from '../sentences/texts.ts'

const TRIED_AGAIN = 'You need not do anything: it is tried again.'
const OTHER_RECIPIENT = 'Check the number, and send a new message to the right one.'

/** By the code that an adapter gives: for lists, what it means, and what to do. */
const BRIDGE_CODES = {
  recipient_unknown: ['Recipient not known', 'The gateway does not know this recipient.', OTHER_RECIPIENT],
  recipient_refused: ['Recipient rejected', 'The gateway rejects this recipient for good.', OTHER_RECIPIENT],
  recipient_limit: [
    'Limit for this recipient',
    'The gateway takes no more for this recipient for a while.',
    TRIED_AGAIN,
  ],
  content_refused: [
    'Content rejected',
    'The gateway rejects this content.',
    'Change the content, and send a new message.',
  ],
  media_refused: [
    'File rejected by the gateway',
    'The gateway rejects this file.',
    'Send a file that it takes, in a new message: its words say which.',
  ],
  rate_limited: ['Slowed down by the gateway', 'The gateway asked for a slower pace.', TRIED_AGAIN],
  busy: ['Gateway is busy', 'The gateway was busy and did not accept the message.', TRIED_AGAIN],
  gateway_unreachable: [
    'Gateway not reachable',
    'The adapter cannot reach its gateway, so it did not leave.',
    'You need not do anything: it goes on by itself. If it lasts, check that the gateway runs.',
  ],
  gateway_auth: [
    'Gateway rejects the credentials',
    'The gateway rejects the credentials of the adapter.',
    'Correct them where the adapter is started; sending goes on by itself.',
  ],
  gateway_setup: [
    'Gateway or adapter set up wrongly',
    'The gateway rejects the request of the adapter: one of them is set up wrongly.',
    'Correct the settings: its words say which. Sending then goes on by itself.',
  ],
  sender_offline: [
    'Logged out at the gateway',
    'The number is not logged in at the gateway.',
    'Log it in again at the gateway; sending goes on by itself.',
  ],
  sender_restricted: [
    'Restricted by the network',
    'The gateway says that the network restricts the number.',
    'Follow what the gateway says of the number. Do not retry meanwhile.',
  ],
  too_late: ['Came too late', 'It reached the adapter too late and was not handed to the gateway.', TRIED_AGAIN],
  attempt_closed: [
    'Came after it was given up',
    'The attempt reached the adapter after it had been given up, so it was not sent.',
    TRIED_AGAIN,
  ],
  adapter_storage: [
    'Adapter cannot write',
    'The adapter cannot write its log, so it hands nothing to the gateway.',
    'Make room on the disk of the adapter; sending goes on by itself.',
  ],
} as const satisfies Record<string, readonly [list: string, cause: string, nextStep: string]>

const FAIL_AGAIN: ReadonlySet<string> = new Set<keyof typeof BRIDGE_CODES>([
  'recipient_unknown',
  'recipient_refused',
  'content_refused',
  'media_refused',
])

/** What an adapter may not do, by what it did. The worst come first: their recipients may have got a message twice. */
export const BROKEN_PROMISES = {
  'sent-after-rejection': 'It said of a message that it was not sent and would not be, and later that it was.',
  'second-id': 'It reported one attempt under two ids, so it may have sent a message twice.',
  'other-answer':
    'It answered for another attempt than the one it was asked about, so the result of a message is unknown.',
  contradiction: 'It reported that a message arrived, and that it failed.',
} as const satisfies Record<string, string>

export type BrokenPromise = keyof typeof BROKEN_PROMISES

/** The reason in the timeline of a message that was sent although its adapter had rejected it. */
export const SENT_AFTER_REJECTION = 'bridge_sent_after_rejection'

/** For the one table of reasons. */
export const BRIDGE_REASONS: Readonly<Record<`bridge_${string}`, ReasonRow>> = {
  ...Object.fromEntries(
    Object.entries(BRIDGE_CODES).map(([code, [list, cause, nextStep]]) => [
      `bridge_${code}`,
      { list, cause, nextStep, failsAgain: FAIL_AGAIN.has(code) },
    ]),
  ),
  [SENT_AFTER_REJECTION]: {
    list: 'Sent after it was rejected',
    cause:
      'The adapter had said that this attempt was not sent and would not be. The recipient may have got the message twice.',
    nextStep: 'Repair the adapter: it breaks its protocol. Ask the recipient what arrived.',
  },
  bridge_other: {
    list: 'Rejected by the adapter',
    cause: 'The adapter rejected it for a reason that this version of Nuncio does not know.',
    nextStep: 'See the words of the adapter; then retry it.',
  },
  bridge_url_blocked: {
    list: 'Address of the adapter not allowed',
    cause: 'The URL of the adapter leads to an address that is not called: without https, or a private one.',
    nextStep: 'Correct the URL, or have the person who runs Nuncio open it with NUNCIO_BRIDGE_ORIGINS.',
  },
  bridge_not_ready: {
    list: 'Adapter not ready',
    cause: 'The adapter does not answer as it should, or its gateway is not ready.',
    nextStep: 'Check that the adapter and its gateway run, and that the adapter has the right secret.',
  },
}

/** Codes for which there is a reason of all channels. */
const SHARED: Readonly<Record<string, 'type_unsupported' | 'media_not_ready'>> = {
  type_unsupported: 'type_unsupported',
  media_missing: 'media_not_ready',
}

interface BridgeReason {
  readonly reason: `bridge_${string}` | 'type_unsupported' | 'media_not_ready'
  /** Null where the reason says it. */
  readonly code: string | null
}

/** The stable reason of an adapter's code. */
export function bridgeReason(code: string): BridgeReason {
  const shared = Object.hasOwn(SHARED, code) ? SHARED[code] : undefined
  if (shared !== undefined) return { reason: shared, code: null }
  return Object.hasOwn(BRIDGE_CODES, code) ? { reason: `bridge_${code}`, code: null } : { reason: 'bridge_other', code }
}
