import { commandLine } from '../command-line.ts'

/**
 * The kind of error of a code of Meta's, which decides about the message and its lane
 * (channels/whatsapp-cloud/outcome.ts).
 */
export type WhatsAppCloudClass =
  /** The credentials are refused: the lane stands still. */
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
  /** Meta holds it back for the recipient's sake: the message fails. */
  | 'ecosystem'
  /** The request is wrong: the message fails. */
  | 'invalid'
  /** The template is wrong: the message fails. */
  | 'template'
  /** The template is held for a while: tried again later. */
  | 'template-wait'
  /** An error of Meta's own: tried again. */
  | 'transient'

interface WhatsAppCloudMeaning {
  readonly class: WhatsAppCloudClass
  readonly sentence: string
  readonly nextStep: string
}

const WAIT = 'Nothing: it is tried again.'
const NEW_TOKEN = 'Give the connection a valid access_token; the lane goes on by itself.'
const GRANT =
  'In Meta’s Business Settings give the system user the number and the permission whatsapp_business_messaging, then a new access_token.'
const ACCOUNT_QUALITY =
  'Open the number in Meta’s WhatsApp Manager and follow what it says there; do not retry meanwhile.'
const OTHER_RECIPIENT = 'Reach this recipient another way.'
const TEMPLATE_PARAMETERS = `Compare the template in Meta’s WhatsApp Manager with the connection’s template setting; ${commandLine`connection templates`} shows which fit.`

function rows(
  kind: WhatsAppCloudClass,
  entries: Readonly<Record<number, readonly [sentence: string, nextStep: string]>>,
): readonly (readonly [number, WhatsAppCloudMeaning])[] {
  return Object.entries(entries).map(([code, [sentence, nextStep]]) => [
    Number(code),
    { class: kind, sentence, nextStep },
  ])
}

/**
 * Every code that Meta's page “Error codes” of the Cloud API lists for sending, and those for registering a number, which
 * sending should never meet. The same code can come as the answer to the call, later by callback, or both. 131052 is left
 * out: it speaks of messages that people send to the number.
 */
export const WHATSAPP_CLOUD_CODES: Readonly<Record<number, WhatsAppCloudMeaning>> = Object.fromEntries([
  ...rows('auth', {
    0: ['Meta could not authenticate the app.', NEW_TOKEN],
    3: ['Meta says that the app may not make this call.', GRANT],
    10: ['Meta says that a permission is missing or was withdrawn.', GRANT],
    190: ['The access token has expired or is not valid.', NEW_TOKEN],
    200: ['Meta says that the access token lacks a permission.', GRANT],
    131005: ['Meta denies access to the number.', GRANT],
  }),
  ...rows('sender', {
    33: [
      'The number was deleted from the business account, or the access token may not use it any more.',
      'Check in Meta’s WhatsApp Manager that the number is there and that the system user of the token has it.',
    ],
    131037: [
      'The number’s display name is not approved, so it may not send.',
      'Have the display name approved in Meta’s WhatsApp Manager.',
    ],
    131045: [
      'The number’s registration is broken: its certificate does not fit.',
      'Register the number again in Meta’s WhatsApp Manager.',
    ],
    133006: ['The number has not been verified.', 'Verify the number in Meta’s WhatsApp Manager, then register it.'],
    133010: [
      'The number is not registered for the Cloud API.',
      'Register the number in Meta’s WhatsApp Manager; the lane goes on by itself.',
    ],
  }),
  ...rows('restricted', {
    368: ['Meta has blocked the business account for a while for breaking its policies.', ACCOUNT_QUALITY],
    131031: ['Meta has locked the business account.', ACCOUNT_QUALITY],
    131042: [
      'Meta sends nothing because of a problem with the payment of the business account.',
      'Mend the payment method in Meta’s Business Settings; the lane goes on by itself.',
    ],
    131048: ['Too many recipients blocked or reported the number, so Meta limits it.', ACCOUNT_QUALITY],
    131064: ['Meta has restricted the business account.', ACCOUNT_QUALITY],
  }),
  ...rows('rate', {
    4: ['The app makes more calls than Meta allows it.', WAIT],
    80007: ['The business account makes more calls than Meta allows it.', WAIT],
    130429: ['The number sends faster than Meta allows it.', WAIT],
  }),
  ...rows('pair', {
    131056: ['Too many messages went to this one recipient in a short time.', WAIT],
  }),
  ...rows('window', {
    131047: [
      'The recipient has not written to this number for 24 hours, so Meta takes only approved templates.',
      'Wait until the recipient writes, or name a template in the connection’s settings that carries such messages (template_text, template_image, template_document, template_video; there is none for audio); then retry it.',
    ],
  }),
  ...rows('recipient', {
    130403: ['The recipient is blocked by this number.', 'Unblock the recipient in WhatsApp, then retry it.'],
    130472: [
      'Meta holds messages of this kind back from the recipient for an experiment.',
      'Nothing helps but that the recipient writes to the number first.',
    ],
    130497: ['The business account may not write to people in this country.', OTHER_RECIPIENT],
    131021: ['The recipient is the sender’s own number.', 'Send it to another number.'],
    131026: [
      'The recipient is not on WhatsApp, has an old version of it, or has not accepted its terms.',
      'Check the number; have the recipient update WhatsApp.',
    ],
    131030: [
      'The number is a test number of Meta’s and the recipient is not on its list.',
      'Add the recipient to the list on the page API Setup of the app, then retry it.',
    ],
    131050: ['The recipient has opted out of marketing messages of this business.', OTHER_RECIPIENT],
  }),
  ...rows('ecosystem', {
    131049: [
      'Meta did not deliver it, so that the recipient gets fewer marketing messages.',
      'Retry it after 24 hours at the earliest: sooner it fails again.',
    ],
  }),
  ...rows('invalid', {
    100: [
      'Meta says that a part of the request is not valid.',
      'See Meta’s own words; check phone_number_id and graph_version of the connection, and the content.',
    ],
    131008: ['Meta misses a part of the request.', 'See Meta’s own words; report it as a fault of Nuncio.'],
    131009: [
      'Meta says that a value in the request is not valid.',
      'See Meta’s own words; check the recipient and the content.',
    ],
    131051: ['Meta does not take this type of message.', 'Send it as another type.'],
    131053: [
      'Meta could not use the attachment.',
      'Check that the file is what Meta takes: see Meta’s own words, then send a new message.',
    ],
    134011: [
      'The terms of WhatsApp Payments have not been accepted.',
      'Accept them in Meta’s WhatsApp Manager, then retry it.',
    ],
    135000: ['Meta could not take it for a reason that it does not name.', 'Check the content, then retry it.'],
  }),
  ...rows('template', {
    132000: ['The template has another number of variables than was sent.', TEMPLATE_PARAMETERS],
    132001: [
      'There is no approved template of this name in this language.',
      `Check the connection’s template setting; ${commandLine`connection templates`} lists what there is.`,
    ],
    132005: ['The template with its text put in is too long.', 'Send a shorter text.'],
    132007: [
      'The template’s text breaks a rule of Meta’s.',
      'See why in Meta’s WhatsApp Manager and mend the template.',
    ],
    132012: ['The template’s variables are of another kind than was sent.', TEMPLATE_PARAMETERS],
    132015: [
      'The template is paused because of its low quality.',
      'Mend the template in Meta’s WhatsApp Manager, or name another one in the connection’s settings.',
    ],
    132016: [
      'The template was paused too often and is disabled for good.',
      'Make a new template and name it in the connection’s settings.',
    ],
    132018: ['The template’s variables cannot hold what was sent.', TEMPLATE_PARAMETERS],
    132068: ['The flow in the template is blocked.', 'Mend the flow in Meta’s WhatsApp Manager.'],
  }),
  ...rows('template-wait', {
    132069: ['The flow in the template is held back for a while.', WAIT],
    134101: ['The template is being prepared by Meta.', WAIT],
  }),
  ...rows('transient', {
    1: ['Meta failed with an unknown error.', 'Nothing: it is tried again. If it goes on, see Meta’s status page.'],
    2: ['Meta’s service is down or overloaded for a moment.', WAIT],
    131000: ['Meta failed for a reason that it does not name.', WAIT],
    131016: ['A service of Meta’s is overloaded for a moment.', WAIT],
    131057: ['Meta is working on the account, usually for a minute while its throughput grows.', WAIT],
    133004: ['Meta’s server is not there for a moment.', WAIT],
  }),
  ...rows('sender', {
    133000: [
      'An earlier removal of the number’s registration was not finished.',
      'Register the number again in Meta’s WhatsApp Manager.',
    ],
    133005: ['The number’s PIN for two-step verification is wrong.', 'Register the number with the right PIN.'],
    133008: ['The number’s PIN was tried too often.', 'Wait as long as Meta says, then register the number.'],
    133009: ['The number’s PIN was tried too fast.', 'Wait as long as Meta says, then register the number.'],
    133015: ['The number was deleted a moment ago.', 'Wait 5 minutes, then register the number.'],
    133016: [
      'The number was registered or removed too often.',
      'Wait until Meta unblocks the number, then register it.',
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
export const WHATSAPP_CLOUD_REASONS: Readonly<
  Record<`whatsapp_${string}`, readonly [sentence: string, nextStep: string]>
> = {
  ...Object.fromEntries(
    Object.entries(WHATSAPP_CLOUD_CODES).map(([code, { sentence, nextStep }]) => [
      `whatsapp_${code}`,
      [sentence, nextStep] as const,
    ]),
  ),
  whatsapp_unknown: [
    'Meta refused it with a code that this version of Nuncio does not know.',
    'See Meta’s own words and its page “Error codes”, then retry it.',
  ],
  whatsapp_pair_pace: [
    'Meta takes one message in 6 seconds for the same recipient, and the burst that it allows is used up.',
    'Nothing.',
  ],
  whatsapp_number_pace: ['The number has sent as many messages in this second as Meta takes from it.', 'Nothing.'],
}
