import { commandLine } from './command-line.ts'
import { MEDIA_REASONS } from './reasons/media.ts'
import { WHATSAPP_CLOUD_REASONS } from './reasons/whatsapp-cloud.ts'

/** For reasons whose words are Nuncio's own and name the cause: the next step for each cause, found by the words. */
const STEPS: Readonly<Record<string, NonNullable<(typeof MEDIA_REASONS)['media_status']['steps']>>> = {
  ...Object.fromEntries(Object.entries(MEDIA_REASONS).map(([code, { steps = [] }]) => [code, steps])),
  // The words are the last download's.
  media_pending: [],
  service_stopped: [
    [/ still holds the data, /, 'Restart that process.'],
    [/^No process /, `Start it: ${commandLine`serve`}. If its process is still there, restart that one.`],
  ],
}

const MEDIA_SENTENCES = Object.fromEntries(
  Object.entries(MEDIA_REASONS).map(([code, { sentence, nextStep }]) => [code, [sentence, nextStep] as const]),
) as Record<keyof typeof MEDIA_REASONS, readonly [sentence: string, nextStep: string]>

/**
 * Why a message waits or how it ended, with the plain sentence and what to do. The codes are stable: people filter by
 * them. docs/reasons.md is printed from this table.
 */
export const REASONS = {
  // Why a message waits
  behind_others: ['Waits for the messages before it in the same lane.', 'Nothing: it moves up by itself.'],
  due: ['It is at the head of its lane and is about to be sent.', 'Nothing.'],
  sending: ['It is being handed over right now.', 'Nothing.'],
  awaiting_evidence: [
    'The line broke while it was handed over; the channel is asked whether it arrived.',
    'Nothing yet: it becomes PUBLISHED or UNCONFIRMED by itself.',
  ],
  media_pending: ['Its media has not been fetched yet.', 'Nothing; see the timeline if it takes long.'],
  media_uploading: ['Its media is being uploaded to the network.', 'Nothing; it is sent as soon as that is done.'],
  retrying: ['The last attempt certainly did not send it; the next one comes by itself.', 'Nothing, or cancel it.'],
  connection_away: [
    'The connection cannot reach its network right now.',
    'Check the connection; the lane goes on by itself once it is back.',
  ],
  credentials_refused: [
    'The network refuses the credentials of the connection.',
    'Give the connection valid credentials, then resume it.',
  ],
  rate_limited: ['The network asked us to slow down.', 'Nothing; raise the least gap if it happens often.'],
  trouble: [
    'Several messages failed in a row, so the whole lane pauses and probes.',
    'Check the network or the channel; the lane goes on by itself.',
  ],
  pace: ['The least gap between two messages of this connection has not passed.', 'Nothing, or lower the least gap.'],
  quiet_hours: [
    'It is a time of day at which this connection sends nothing.',
    'Nothing, or change the quiet hours of the connection.',
  ],
  backlog_confirmation: [
    'The lane stood still for longer than its connection allows without asking, so what has piled up waits for a person.',
    `Check what waits, then: ${commandLine`connection approve-backlog NUMBER`}`,
  ],
  paused: ['The connection is paused.', `Resume it: ${commandLine`connection resume NUMBER`}`],
  database_went_back: [
    'All lanes are held until a person releases them. If the database is older than it had been, what was sent since might be sent again.',
    `Check what was sent meanwhile, cancel what must not go out again, then: ${commandLine`hold --release`}`,
  ],
  service_stopped: ['No service is running on this data, so nothing is sent.', `Start it: ${commandLine`serve`}`],
  process_gone: ['The worker that held this lane died; another one takes over within 20 seconds.', 'Nothing.'],
  storage_unavailable: [
    'Nothing can be accepted or sent, because nothing can be written.',
    `Make room on the disk, or repair the database: ${commandLine`doctor`} shows what is wrong. Sending goes on by itself.`,
  ],

  // How a message ended, or why an attempt failed
  recipient_blocked: [
    'The recipient asked to stop: the number is on the block list of the account.',
    `Nothing. If it was blocked by mistake: ${commandLine`recipient unblock RECIPIENT`}, then retry the message.`,
  ],
  recipient_refused: ['The network refuses this recipient for ever.', 'Check the number.'],
  busy: ['The network was busy and did not take the message.', 'Nothing: it is tried again.'],
  refused_later: [
    'The network took the message and reported later that it failed.',
    'Check the recipient, then retry the message.',
  ],
  content_refused: ['The network refuses this content.', 'Change the content and send a new message.'],
  network_error: ['The network could not be reached; nothing was sent.', 'Nothing: it is tried again.'],
  head_budget_over: [
    'It kept failing for as long as one message may hold up its lane.',
    'Mend the cause shown in its attempts, then retry it.',
  ],
  time_to_live_over: [
    'It waited longer than messages may live in this lane.',
    'Retry it if it is still wanted, or raise the time to live.',
  ],
  cancelled_by_person: ['A person took it out of the lane.', 'Retry it if it is wanted after all.'],
  connection_removed: ['Its connection was removed.', 'Add the connection again and retry the message.'],
  result_unknown: [
    'The line broke after the message was handed over, and there is no evidence whether it arrived.',
    `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
  ],
  stopped_while_sending: [
    'The worker died while the message was being handed over.',
    `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
  ],
  quarantined: [
    'Nuncio stopped three times while handling this message, so it is not tried again.',
    `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again, which may stop Nuncio again. Report it with its id.`,
  ],
  possible_duplicate: [
    'It was sent once more after an attempt with an unknown result, as the connection is set to do, so it may have arrived twice.',
    'Nothing, or set on_unconfirmed=leave on the connection.',
  ],
  marked_arrived: ['A person said that it arrived.', 'Nothing.'],
  evidence_found: ['The network reported later that it has it.', 'Nothing.'],
  evidence_not_sent: ['The channel showed that it did not leave.', 'Nothing: it is tried again, or retry it.'],
  message_damaged: [
    'The stored message no longer matches its checksum, so it was not sent.',
    'Check the disk; send the message again.',
  ],
  type_unsupported: ['The channel cannot send this type of message.', 'Send it from another connection.'],
  call_interrupted: [
    'The worker lost its claim before the call, so the call was not made.',
    'Nothing: it is tried again.',
  ],
  call_timed_out: [
    'The call to the channel took longer than it may.',
    `Ask the recipient, then: ${commandLine`message resolve ID --arrived`} or --send-again`,
  ],
  channel_fault: ['The channel failed in a way it should not.', 'See the log of the service under the message id.'],
  secret_unreadable: [
    'The stored credentials of the connection cannot be opened, because their key is missing or they were changed.',
    `Restore the key ring (${commandLine`secrets list`}), or give the connection its credentials anew.`,
  ],
  template_cannot_hold_text: [
    'The recipient has not written for 24 hours, and the template cannot carry this text as it is.',
    'Send a text without line breaks, tabs and rows of blanks, at most 1,024 characters, or wait until the recipient writes.',
  ],
  template_without_text: [
    'The recipient has not written for 24 hours, and the template for such files has no place for a caption.',
    'Send the file without a caption, name a template with one variable in the connection’s settings, or wait until the recipient writes.',
  ],
  template_wants_text: [
    'The recipient has not written for 24 hours, and the template for such files needs a caption, which this one has not.',
    'Send the file with a caption, name a template without variables in the connection’s settings, or wait until the recipient writes.',
  ],
  template_none_for_audio: [
    'The recipient has not written for 24 hours, and there is no template that carries audio.',
    'Wait until the recipient writes, then retry it; or send it as a document, for which there is template_document.',
  ],

  // Why media could not be had
  ...MEDIA_SENTENCES,
  media_lost: [
    'The fetched file went missing before its turn came.',
    'Nothing: it is fetched again. If it failed for that, check who removes files from the data folder, then retry it.',
  ],
  media_not_ready: [
    'The network no longer has the attachment that was given to it before.',
    'Nothing: it is given to it again.',
  ],
  media_not_for_network: [
    'The network does not take a file like this for this type of message.',
    'Send a file that it takes, as the words beside this say.',
  ],

  // What WhatsApp says, under Meta's own codes
  ...WHATSAPP_CLOUD_REASONS,
} as const satisfies Record<string, readonly [sentence: string, nextStep: string]>

export type ReasonCode = keyof typeof REASONS

/** What these reasons say instead of a message that is FAILED: every attempt of it is proven not sent. */
export const REASONS_IF_FAILED: Partial<Record<ReasonCode, readonly [sentence: string, nextStep: string]>> = {
  quarantined: [
    'Not sent: Nuncio stopped three times while handling this message.',
    `Find out what is special about it, and report it with its id. To try it again, which may stop Nuncio again: ${commandLine`message retry ID`}`,
  ],
}

export function isReasonCode(code: string): code is ReasonCode {
  return Object.hasOwn(REASONS, code)
}

interface ExplainedReason {
  readonly sentence: string
  readonly nextStep: string
  /** What the network said, to be quoted. Null where the sentence says it already. */
  readonly words: string | null
}

/**
 * The sentence and next step of a reason, and of its cause where its own words name one. `state`: of the message that has it,
 * where it is the reason of a message. A code of a newer version reads as itself.
 */
export function explainReason(code: string, state: unknown = null, words: string | null = null): ExplainedReason {
  if (!isReasonCode(code)) return { sentence: code, nextStep: '', words }
  const [sentence, nextStep] = (state === 'FAILED' && REASONS_IF_FAILED[code]) || REASONS[code]
  const steps = STEPS[code]
  if (words === null || !steps) return { sentence, nextStep, words }
  return { sentence: words, nextStep: steps.find(([cause]) => cause.test(words))?.[1] ?? nextStep, words: null }
}
