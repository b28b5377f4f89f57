import { commandLine } from '../command-line.ts'
import type { ReasonRow, ReasonText } from '../sentences/texts.ts'

/**
 * What kind of error one of Meta's codes is. It decides what happens to the message and its lane
 * (channels/whatsapp-cloud/outcome.ts).
 */
export type WhatsAppCloudClass =
  /** The credentials are rejected: the lane stands still. */
  | 'auth'
  /** The number cannot send at all: the lane stands still. */
  | 'sender'
  /** The number or its business is restricted, and trying again makes it worse: the lane stands still for longer. */
  | 'restricted'
  /** Too fast for the number, the business account or the app: the lane backs off. */
  | 'rate'
  /** Too fast for this one recipient: the lane waits. */
  | 'pair'
  /** The recipient has not written for 24 hours: only a template may go. */
  | 'window'
  /** This recipient cannot be reached: the message fails. */
  | 'recipient'
  /** Meta does not deliver it, to protect the recipient: the message fails. */
  | 'ecosystem'
  /** The request is wrong: the message fails. */
  | 'invalid'
  /** The template is wrong: the message fails. */
  | 'template'
  /** The template is held for a while: tried again later. */
  | 'template-wait'
  /** An error of Meta's own: tried again. */
  | 'transient'

interface WhatsAppCloudMeaning extends ReasonText {
  readonly class: WhatsAppCloudClass
  readonly cause: string
  readonly nextStep: string
}

const TOKEN = commandLine`connection set NUMBER access_token=…`

/** Where and how people act on such an error. */
const DONE_ON: Readonly<Partial<Record<WhatsAppCloudClass, Pick<ReasonText, 'command' | 'opens'>>>> = {
  auth: { command: TOKEN, opens: 'connection' },
  sender: { command: commandLine`connection resume NUMBER`, opens: 'connection' },
  restricted: { command: commandLine`connection check NUMBER`, opens: 'connection' },
  window: { command: commandLine`connection templates NUMBER`, opens: 'connection' },
  template: { command: commandLine`connection templates NUMBER`, opens: 'connection' },
}

const WAIT = 'You need not do anything: it is tried again.'
const NEW_TOKEN = 'Enter a valid token of the system user; sending goes on by itself.'
const GRANT =
  'In Meta’s Business Settings, give the system user the number and the permission whatsapp_business_messaging; then enter its new token.'
const ACCOUNT_QUALITY = 'Follow what WhatsApp Manager says of the number. Do not retry meanwhile: that makes it worse.'
const OTHER_RECIPIENT = 'Reach this recipient another way.'
const TEMPLATE_PARAMETERS =
  'Compare the template in WhatsApp Manager with the template setting of the connection; then retry it.'

// The cause lies in the recipient, the content or the request, which are the same when the message is sent again.
const FAIL_AGAIN: ReadonlySet<number> = new Set([
  130472, 130497, 131008, 131009, 131021, 131050, 131051, 131053, 132005, 132007,
])

function rows(
  kind: WhatsAppCloudClass,
  entries: Readonly<Record<number, readonly [list: string, cause: string, nextStep: string]>>,
): readonly (readonly [number, WhatsAppCloudMeaning])[] {
  return Object.entries(entries).map(([code, [list, cause, nextStep]]) => [
    Number(code),
    { class: kind, list, cause, nextStep, failsAgain: FAIL_AGAIN.has(Number(code)), ...DONE_ON[kind] },
  ])
}

/**
 * Every code that Meta's page “Error codes” of the Cloud API lists for sending, and those for registering a number, which
 * sending should never meet. The same code can come as the answer to the call, later by callback, or both. 131052 is left
 * out: it speaks of messages that people send to the number.
 */
export const WHATSAPP_CLOUD_CODES: Readonly<Record<number, WhatsAppCloudMeaning>> = Object.fromEntries([
  ...rows('auth', {
    0: ['Meta rejects the access token', 'Meta could not check the access token.', NEW_TOKEN],
    3: ['App may not send', 'Meta says that the app may not make this call.', GRANT],
    10: ['Permission missing', 'Meta says that a permission is missing or was withdrawn.', GRANT],
    190: ['Access token expired or invalid', 'The access token has expired or is not valid.', NEW_TOKEN],
    200: ['Token lacks a permission', 'Meta says that the access token lacks a permission.', GRANT],
    131005: ['Meta denies access', 'Meta denies access to {number}.', GRANT],
  }),
  ...rows('sender', {
    33: [
      'Number gone at Meta',
      '{number} was deleted from the business account, or the access token may no longer use it.',
      'Check in WhatsApp Manager that {number} is there, and that the system user of the token has it.',
    ],
    131037: [
      'Display name not approved',
      'The display name of {number} is not approved, so it may not send.',
      'Have the display name approved in WhatsApp Manager.',
    ],
    131045: [
      'Registration broken',
      'The registration of {number} does not fit its certificate.',
      'Register {number} again in WhatsApp Manager.',
    ],
    133006: [
      'Number not verified',
      '{number} has not been verified.',
      'Verify {number} in WhatsApp Manager, then register it.',
    ],
    133010: [
      'Number not registered',
      '{number} is not registered for the Cloud API.',
      'Register {number} in WhatsApp Manager; sending goes on by itself.',
    ],
  }),
  ...rows('restricted', {
    368: [
      'Account blocked for a while',
      'Meta has blocked the business account for a while, because of its policies.',
      ACCOUNT_QUALITY,
    ],
    131031: ['Account locked', 'Meta has locked the business account.', ACCOUNT_QUALITY],
    131042: [
      'Payment problem',
      'Meta sends nothing until a payment problem of the business account is solved.',
      'Fix the payment method in Meta’s Business Settings; sending goes on by itself.',
    ],
    131048: [
      'Blocked by too many people',
      'Too many recipients blocked or reported {number}, so Meta limits it.',
      ACCOUNT_QUALITY,
    ],
    131064: ['Account restricted', 'Meta has restricted the business account.', ACCOUNT_QUALITY],
  }),
  ...rows('rate', {
    4: ['Meta limits the app', 'The app makes more calls than Meta allows.', WAIT],
    80007: ['Meta limits the account', 'The business account makes more calls than Meta allows.', WAIT],
    130429: ['Too fast for Meta', '{number} sends faster than Meta allows.', WAIT],
  }),
  ...rows('pair', {
    131056: ['Limit for this person', 'Too many messages went to this recipient in a short time.', WAIT],
  }),
  ...rows('window', {
    131047: [
      '24 hours over, no template',
      '{to} has not written to {number} for 24 hours, so Meta takes only approved templates.',
      'Wait until {to} writes, or choose a template for such messages in the settings of the connection; then retry it.',
    ],
  }),
  ...rows('recipient', {
    130403: [
      'Blocked by this number',
      '{number} has blocked {to} in WhatsApp.',
      'Unblock {to} in WhatsApp, then retry it.',
    ],
    130472: [
      'Held back for an experiment',
      'Meta holds such messages back from {to}, for an experiment.',
      'Wait until {to} writes, or reach them another way.',
    ],
    130497: ['Country not allowed', 'The business account may not send to this country.', OTHER_RECIPIENT],
    131021: ['Sent to itself', '{to} is the sender’s own number.', 'Send a new message to another number.'],
    131026: [
      'Not reachable on WhatsApp',
      '{to} is not on WhatsApp, has an old version of it, or has not accepted its terms.',
      'Check the number, and have {to} update WhatsApp; then retry it.',
    ],
    131030: [
      'Not on the test list',
      '{number} is a test number of Meta, and {to} is not on its list.',
      'Add {to} under API Setup of the app, then retry it.',
    ],
    131050: ['Opted out of marketing', '{to} has opted out of your marketing messages.', OTHER_RECIPIENT],
  }),
  ...rows('ecosystem', {
    131049: [
      'Meta limits marketing',
      'Meta did not deliver it, so that {to} gets less marketing.',
      'Retry it after 24 hours: before that it fails again.',
    ],
  }),
  ...rows('invalid', {
    100: [
      'Meta: invalid request',
      'Meta says that a part of the request is not valid.',
      'See Meta’s words. Check the content, and phone_number_id and graph_version of the connection; then retry it.',
    ],
    131008: [
      'Error in Nuncio’s request',
      'Meta misses a part of the request.',
      'Report it, with Meta’s words and the message id.',
    ],
    131009: [
      'Meta: invalid value',
      'Meta says that a value is not valid.',
      'See Meta’s words. Check the number and the content, and send a new message.',
    ],
    131051: [
      'Type not taken',
      'Meta does not take this type of message.',
      'Send it as another type, in a new message.',
    ],
    131053: [
      'File not usable for Meta',
      'Meta could not use the file.',
      'See Meta’s words. Send a file that it takes, in a new message.',
    ],
    134011: [
      'Payment terms missing',
      'The terms of WhatsApp Payments have not been accepted.',
      'Accept them in WhatsApp Manager, then retry it.',
    ],
    135000: [
      'Meta: unnamed error',
      'Meta could not accept it, and does not say why.',
      'Check the content, then retry it once.',
    ],
  }),
  ...rows('template', {
    132000: [
      'Template variables do not fit',
      'The template has another number of variables than were sent.',
      TEMPLATE_PARAMETERS,
    ],
    132001: [
      'Template not found',
      'Meta has no approved template of this name in this language.',
      'Choose an approved template in the settings of the connection; then retry it.',
    ],
    132005: [
      'Template text too long',
      'The template is too long with this text.',
      'Send a shorter text, in a new message.',
    ],
    132007: [
      'Template breaks a rule',
      'The text of the template breaks a rule of Meta.',
      'See why in WhatsApp Manager, and change the template.',
    ],
    132012: [
      'Template variables do not fit',
      'The variables of the template are of another kind than were sent.',
      TEMPLATE_PARAMETERS,
    ],
    132015: [
      'Template paused',
      'Meta paused the template, because of its quality.',
      'Improve the template in WhatsApp Manager, or choose another in the settings of the connection; then retry it.',
    ],
    132016: [
      'Template disabled',
      'Meta disabled the template for good.',
      'Make a new template, and choose it in the settings of the connection; then retry it.',
    ],
    132018: [
      'Template variables do not fit',
      'The variables of the template cannot hold what was sent.',
      TEMPLATE_PARAMETERS,
    ],
    132068: [
      'Template flow blocked',
      'Meta blocked the flow in the template.',
      'Fix the flow in WhatsApp Manager, then retry it.',
    ],
  }),
  ...rows('template-wait', {
    132069: ['Template held', 'Meta holds back the flow in the template for a while.', WAIT],
    134101: ['Template in review', 'Meta is still preparing the template.', WAIT],
  }),
  ...rows('transient', {
    1: ['Meta had an error', 'Meta failed with an error that it does not name.', WAIT],
    2: ['Meta overloaded', 'Meta is overloaded or down.', WAIT],
    131000: ['Meta had an error', 'Meta failed with an error that it does not name.', WAIT],
    131016: ['Meta overloaded', 'Meta is overloaded or down.', WAIT],
    131057: ['Meta works on the account', 'Meta is working on the account, mostly for a minute.', WAIT],
    133004: ['Meta overloaded', 'Meta is overloaded or down.', WAIT],
  }),
  ...rows('sender', {
    133000: [
      'Registration unfinished',
      'An earlier deregistration of {number} was not finished.',
      'Register {number} again in WhatsApp Manager.',
    ],
    133005: ['Wrong two-step PIN', 'The two-step PIN of {number} is wrong.', 'Register it with the right PIN.'],
    133008: [
      'PIN tried too often',
      'The PIN of {number} was tried too often.',
      'Wait as long as Meta says, then register {number}.',
    ],
    133009: [
      'PIN tried too often',
      'The PIN of {number} was tried too fast.',
      'Wait as long as Meta says, then register {number}.',
    ],
    133015: ['Number just deleted', '{number} was deleted a moment ago.', 'Wait 5 minutes, then register {number}.'],
    133016: [
      'Registered too often',
      '{number} was registered or deregistered too often.',
      'Wait until Meta unblocks {number}, then register it.',
    ],
  }),
])

/** The whole range is one: permissions that were not granted or were withdrawn. */
const FIRST_PERMISSION = 200
const LAST_PERMISSION = 299

/** Null for a code that Meta's page did not list when this was written. */
export function meaningOfWhatsAppCloud(code: number): WhatsAppCloudMeaning | null {
  return WHATSAPP_CLOUD_CODES[listed(code)] ?? null
}

/** The stable reason code of a code of Meta's. */
export function whatsAppCloudReason(code: number): `whatsapp_${string}` {
  return WHATSAPP_CLOUD_CODES[listed(code)] ? `whatsapp_${listed(code)}` : 'whatsapp_unknown'
}

function listed(code: number): number {
  return code >= FIRST_PERMISSION && code <= LAST_PERMISSION ? FIRST_PERMISSION : code
}

/** For the one table of reasons. */
export const WHATSAPP_CLOUD_REASONS: Readonly<Record<`whatsapp_${string}`, ReasonRow>> = {
  ...Object.fromEntries(
    Object.entries(WHATSAPP_CLOUD_CODES).map(([code, { class: _, ...text }]) => [`whatsapp_${code}`, text] as const),
  ),
  whatsapp_unknown: {
    list: 'Meta: unknown code',
    cause: 'Meta rejected it with a code that this version of Nuncio does not know.',
    nextStep: 'See Meta’s words and its page “Error codes”; then retry it.',
  },
  whatsapp_pair_pace: {
    list: 'Limit for this person',
    cause: 'Meta allows one message each 6 s to the same person, and a burst of 45 is used up.',
    nextStep: 'You need not do anything: it is sent then.',
  },
  whatsapp_number_pace: {
    list: 'Limit for each second reached',
    cause: '{number} has sent as many messages in this second as Meta allows.',
    nextStep: 'You need not do anything: it is sent then.',
  },
}
