import { commandLine } from './command-line.ts'
import { MEDIA_REASONS } from './reasons/media.ts'
import { WHATSAPP_CLOUD_REASONS } from './reasons/whatsapp-cloud.ts'

/** For reasons whose words are Nuncio's own and name the cause: the next step for each cause, found by the words. */
const STEPS: Readonly<Record<string, NonNullable<(typeof MEDIA_REASONS)['media_status']['steps']>>> = {
  ...Object.fromEntries(Object.entries(MEDIA_REASONS).map(([code, { steps = [] }]) => [code, steps])),
  // The words are those of the last download.
  media_pending: [],
  service_stopped: [
    [/ still holds the data, /, 'Restart that process.'],
    [/^No process /, `Start it: ${commandLine`serve`}. If its process is still there, restart that one.`],
  ],
}

const MEDIA_SENTENCES = Object.fromEntries(
  Object.entries(MEDIA_REASONS).map(([code, { sentence, nextStep }]) => [code, [sentence, nextStep] as const]),
) as Record<keyof typeof MEDIA_REASONS, readonly [sentence: string, nextStep: string]>

/** The sentence, what to do, and what to do in the console where the general text names a command. */
type ReasonText = readonly [sentence: string, nextStep: string, inConsole?: string]

const NO_ACTION = 'You need not do anything.'
const TRIED_AGAIN = 'You need not do anything: it is tried again.'
const ASK: readonly [nextStep: string, inConsole: string] = [
  `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
  'Ask the recipient. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.',
]

/**
 * Why a message waits or how it ended, with a plain sentence and what to do. The codes are stable: people filter by
 * them. docs/reasons.md is printed from this table.
 */
export const REASONS = {
  // Why a message waits
  behind_others: [
    'It waits for earlier messages of its number, or for an earlier one to the same recipient.',
    'You need not do anything: it moves up by itself.',
  ],
  all_deferred: [
    'Every waiting message waits for something of its own.',
    'You need not do anything: each is sent when its wait is over.',
  ],
  due: ['It is next, and is sent within a second.', NO_ACTION],
  sending: ['It is being sent now; the network has not answered yet.', NO_ACTION],
  awaiting_evidence: [
    'The connection broke while it was being sent. Nuncio waits for a report from the network.',
    'You need not do anything yet: it becomes PUBLISHED or UNCONFIRMED by itself.',
  ],
  media_pending: [
    'Its file has not been downloaded yet.',
    'You need not do anything. The timeline shows each download.',
  ],
  media_uploading: ['Its file is being uploaded to the network.', 'You need not do anything: it is sent after that.'],
  retrying: ['The last attempt did not leave. The next one comes by itself.', 'You need not do anything.'],
  connection_away: [
    'The connection cannot reach its network.',
    'You need not do anything: it goes on by itself. If it lasts, check the network of this machine.',
  ],
  credentials_refused: [
    'The network refuses the credentials of the connection.',
    'Enter valid credentials, then resume the connection.',
    'Enter valid credentials on the page of the connection, then resume it.',
  ],
  rate_limited: [
    'The network asked this number to slow down.',
    'You need not do anything. If it happens often, raise the least gap.',
  ],
  trouble: [
    'Several messages in a row failed, so the number waits and tries again.',
    'You need not do anything: it goes on by itself. If it lasts, fix the cause that the last attempt names.',
  ],
  pace: [
    'This number waits a while after each message: its least gap.',
    'You need not do anything. To send faster, lower the least gap.',
  ],
  quiet_hours: [
    'This number sends nothing at this time of day: its quiet hours.',
    'You need not do anything. To send now, change the quiet hours.',
  ],
  backlog_confirmation: [
    'The number stood still for longer than it may, so a person has to approve what has piled up.',
    `Check what waits, then: ${commandLine`connection approve-backlog NUMBER`}`,
    'Check what waits on the page of the connection. Then approve it, or cancel what is too old.',
  ],
  paused: [
    'The connection is paused.',
    `Resume it: ${commandLine`connection resume NUMBER`}`,
    'Resume the connection on its page.',
  ],
  database_went_back: [
    'All numbers are held: the database may be older than it was, so what was sent since might be sent again.',
    `Check what was sent meanwhile, cancel what must not go out again, then: ${commandLine`hold --release`}`,
    'Cancel what was sent meanwhile. Then ask the person who runs Nuncio to release all numbers.',
  ],
  service_stopped: [
    'Nuncio is not running, so nothing is sent.',
    `Start it: ${commandLine`serve`}`,
    'Ask the person who runs Nuncio to start a process that sends, or to restart the one that stands still.',
  ],
  process_gone: ['The process that sent for this number stopped. Another one takes over within 20 seconds.', NO_ACTION],
  storage_unavailable: [
    'Nothing can be accepted or sent, because nothing can be stored.',
    `Make room on the disk, or repair the database: ${commandLine`doctor`} shows what is wrong. Sending goes on by itself.`,
    'Ask the person who runs Nuncio to make room on the disk or to repair the database. Sending goes on by itself.',
  ],

  // How a message ended, or why an attempt failed
  recipient_blocked: [
    'The recipient is on the block list of the account.',
    `You need not do anything. If it was blocked by mistake: ${commandLine`recipient unblock RECIPIENT`}, then retry the message.`,
    'You need not do anything. If it was blocked by mistake, unblock it under Settings, Recipients; then retry the message.',
  ],
  recipient_refused: ['The network refuses this recipient for good.', 'Check the number.'],
  busy: ['The network was busy and did not accept the message.', TRIED_AGAIN],
  refused_later: [
    'The network accepted the message and reported later that it failed.',
    'Check the recipient, then retry the message.',
  ],
  content_refused: ['The network refuses this content.', 'Change the content, and send a new message.'],
  network_error: ['The network could not be reached. Nothing was sent.', TRIED_AGAIN],
  tries_used_up: ['It failed nine times, so it was given up.', 'Fix the cause that its attempts show, then retry it.'],
  time_to_live_over: [
    'It waited longer than messages of this number may wait.',
    'Retry it if it is still wanted. To let messages wait longer, raise the time to live.',
  ],
  cancelled_by_person: ['A person took it out of the queue.', 'Retry it if it is wanted after all.'],
  connection_removed: [
    'Its number was removed, and what waited was cancelled.',
    'Add the number again, then retry the message.',
  ],
  result_unknown: ['The connection broke while it was being sent, and no report shows whether it arrived.', ...ASK],
  stopped_while_sending: ['Nuncio stopped while it was being sent, and no report shows whether it arrived.', ...ASK],
  quarantined: [
    'Nuncio stopped three times while sending this message, so it is not tried again.',
    `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again, which may stop Nuncio again. Report it with its id.`,
    'Ask the recipient. Then choose “It arrived” or “Send again”, which may stop Nuncio again. Report it with its id.',
  ],
  possible_duplicate: [
    'It was sent once more after an attempt with an unknown result, so it may have arrived twice.',
    'You need not do anything. To avoid it, set on_unconfirmed=leave on the connection.',
    'You need not do anything. To avoid it, change “If the result is unknown” in the settings of the connection.',
  ],
  marked_arrived: ['A person said that it arrived.', NO_ACTION],
  evidence_found: ['A report of the network shows that it has it.', NO_ACTION],
  evidence_not_sent: [
    'The network showed that it did not leave.',
    'You need not do anything while it waits: it is tried again. If it has failed, retry it.',
  ],
  message_damaged: [
    'The stored message no longer matches its checksum, so it was not sent.',
    'Send a new message, and have the disk checked.',
  ],
  type_unsupported: ['This number cannot send this type of message.', 'Send it from another number.'],
  call_interrupted: ['The attempt was stopped before anything left.', TRIED_AGAIN],
  call_timed_out: ['The network did not answer in time.', ...ASK],
  channel_fault: ['Nuncio failed while sending it.', 'The message id finds the error in the log of the service.'],
  secret_unreadable: [
    'The stored credentials cannot be decrypted: their key is missing, or they were changed.',
    `Restore the key ring (${commandLine`secrets list`}), or enter the credentials again.`,
    'Enter the credentials again, or ask the person who runs Nuncio to restore the key ring.',
  ],
  template_cannot_hold_text: [
    'The 24 hours are over, and a template cannot hold line breaks, tabs, rows of blanks or more than 1,024 characters.',
    'Send one shorter line of text, or wait until the recipient writes; then retry.',
  ],
  template_without_text: [
    'The 24 hours are over, and the template for such files has no place for a caption.',
    'Send the file without a caption, choose a template with one variable, or wait until the recipient writes.',
  ],
  template_wants_text: [
    'The 24 hours are over, and the template for such files needs a caption; this file has none.',
    'Send the file with a caption, choose a template without variables, or wait until the recipient writes.',
  ],
  template_none_for_audio: [
    'The 24 hours are over, and no template can carry audio.',
    'Send it as a document, or wait until the recipient writes; then retry.',
  ],

  // Why a file could not be downloaded
  ...MEDIA_SENTENCES,
  media_lost: [
    'The downloaded file vanished before its turn came.',
    'You need not do anything while it waits: it is downloaded again. If it happens again, check what removes files from the data folder.',
  ],
  media_not_ready: [
    'The network no longer has the file that was uploaded before.',
    'You need not do anything: it is uploaded again.',
  ],
  media_not_for_network: [
    'The network does not take a file like this for this type of message.',
    'Send a file that it takes, as the words beside this say.',
  ],

  // What WhatsApp says, under Meta's own codes
  ...WHATSAPP_CLOUD_REASONS,
} as const satisfies Record<string, ReasonText>

export type ReasonCode = keyof typeof REASONS

/** What these reasons say instead of a message that is FAILED: every attempt of it is proven not sent. */
export const REASONS_IF_FAILED: Partial<Record<ReasonCode, ReasonText>> = {
  quarantined: [
    'Nuncio stopped three times while sending this message. It did not leave any of these times.',
    `Report it with its id. To try it again, which may stop Nuncio again: ${commandLine`message retry ID`}`,
    'Report it with its id. “Retry” tries it again, which may stop Nuncio again.',
  ],
}

export function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(REASONS, code)
}

interface ExplainedReason {
  readonly sentence: string
  readonly nextStep: string
  /** The next step without commands: as buttons and links of the console are called. */
  readonly inConsole: string
  /** What the network said, to be quoted. Null where the sentence says it already. */
  readonly words: string | null
}

/**
 * The sentence and next step of a reason, and of its cause where its own words name one. `state`: of the message that has it,
 * where it is the reason of a message. A code of a newer version reads as itself.
 */
export function explainReason(code: string, state: unknown = null, words: string | null = null): ExplainedReason {
  if (!isReasonCode(code)) return { sentence: code, nextStep: '', inConsole: '', words }
  const text: ReasonText = (state === 'FAILED' && REASONS_IF_FAILED[code]) || REASONS[code]
  const [sentence, nextStep, inConsole = nextStep] = text
  const steps = STEPS[code]
  if (words === null || !steps) return { sentence, nextStep, inConsole, words }
  const ofCause = steps.find(([cause]) => cause.test(words))?.[1]
  return {
    sentence: words,
    nextStep: ofCause ?? nextStep,
    inConsole: text[2] ?? ofCause ?? nextStep,
    words: null,
  }
}
