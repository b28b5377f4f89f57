import { commandLine } from '../command-line.ts'
import { NO_ACTION, type ReasonRow } from '../sentences/texts.ts'

const RETRY = commandLine`message retry ID`
const TEMPLATES = { opens: 'connection', command: commandLine`connection templates NUMBER` } as const

/** How our own channels say that no answer came. The same words of others may mean something else. */
const NO_ANSWER = /^(Meta|WhatsApp|The adapter|it) did not answer|^no answer|^the call to the channel took longer than/

/** How they say that an answer came that says nothing. */
const UNCLEAR = /HTTP \d+ and nothing that says|^\(#\d|for another attempt|is not of version|^The adapter does not know/

/** How they say that the connection ended before the answer. */
const BROKE =
  /^Meta (broke|closed) the connection|^the line (to WhatsApp ended|broke while)|^The adapter (closed the connection|broke off)|^The TLS connection to the adapter broke/

/** The next step for a reason that both an attempt which is tried again and a message which failed may have. */
const TRIED_AGAIN = 'You need not do anything while it waits: it is tried again.'

const ASK = {
  nextStep: 'Ask {to}. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.',
  command: `${commandLine`message resolve ID --arrived`} or --send-again`,
} as const

/** How a message ended, or why an attempt failed. */
export const END_REASONS = {
  recipient_blocked: {
    list: 'Stopped by the block list',
    cause: [
      '{to} is on the block list: blocked {by} {at} (“{why}”).',
      '{to} is on the block list: blocked {by} {at}.',
      '{to} is on the block list.',
    ],
    nextStep: 'You need not do anything. If that was a mistake, unblock the recipient, then retry.',
    command: commandLine`recipient unblock RECIPIENT`,
    opens: 'recipients',
  },
  recipient_refused: {
    list: 'Number rejected',
    cause: '{network} rejects {to} for good.',
    nextStep: 'Check the number, and send a new message to the right one.',
    failsAgain: true,
  },
  busy: { list: 'Busy', cause: '{network} was busy and did not accept the message.', nextStep: TRIED_AGAIN },
  refused_later: {
    list: 'Failed after sending',
    cause: '{network} accepted it and reported later that it failed.',
    nextStep: 'Check the recipient, then retry.',
    command: RETRY,
  },
  content_refused: {
    list: 'Content rejected',
    cause: '{network} rejects this content.',
    nextStep: 'Change the content, and send a new message.',
    failsAgain: true,
  },
  second_network_id: {
    list: 'Reported under two ids',
    cause: '{network} reported the attempt under a second id, so it may have sent the message twice.',
    nextStep: 'Ask the recipient what arrived, and the people who run the gateway why there are two.',
  },
  network_error: {
    list: 'Not reached',
    cause: '{network} could not be reached. Nothing was sent.',
    nextStep: TRIED_AGAIN,
  },
  tries_used_up: {
    list: 'Given up after nine tries',
    cause: ['Nine tries in {wait} failed. The last: {cause}', 'It failed nine times, so it was given up.'],
    nextStep: 'Fix the cause that its attempts show, then retry.',
    command: RETRY,
    causes: [
      {
        when: { fact: 'uploads' },
        list: 'Upload failed nine times',
        cause: 'The file could not be brought to {network}, nine times.',
        nextStep: 'Retry once it works.',
      },
    ],
  },
  time_to_live_over: {
    list: 'Expired in the queue',
    cause: [
      'It waited {wait}, longer than {number} lets it: {waited}.',
      'It waited {wait}, longer than {number} lets it.',
      'It waited longer than messages of {number} may wait.',
    ],
    nextStep: 'Retry it if it is still wanted. To let messages wait longer, raise the time to live.',
    command: RETRY,
    opens: 'connection',
    causes: [
      {
        when: { fact: 'pausedBy' },
        list: 'Expired while paused',
        nextStep: 'Retry it if it is still wanted.',
      },
      {
        when: { fact: 'stopped' },
        list: 'Expired while Nuncio was off',
        cause: 'It waited {wait}, longer than {number} lets it. Nuncio {stopped} of it.',
        nextStep: 'Retry it if it is still wanted.',
      },
      {
        when: { fact: 'unapproved' },
        list: 'Expired without approval',
        cause: 'It waited {wait}, longer than {number} lets it. The backlog was not approved.',
        nextStep: 'Retry it if it is still wanted.',
      },
    ],
  },
  cancelled_by_person: {
    list: ['Cancelled by {who}', 'Cancelled'],
    cause: [
      '{who} cancelled it {at}, after {attempts} that had not left.',
      '{who} cancelled it {at}.',
      'It was cancelled.',
    ],
    nextStep: 'Retry it if it is wanted after all.',
    command: RETRY,
  },
  connection_removed: {
    list: 'Number was removed',
    cause: [
      '{who} removed {number} {at} and cancelled what waited.',
      '{number} was removed, and what waited was cancelled.',
    ],
    nextStep: 'Add {number} again; “Retry” then appears here.',
    command: commandLine`connection add NUMBER`,
    opens: 'connections',
  },
  result_unknown: {
    list: 'Result unknown',
    cause: [
      'The result of attempt {n} is unknown, and no report came within {wait}.',
      'The result of attempt {n} is unknown, and no report shows whether it arrived.',
      'Its result is unknown, and no report shows whether it arrived.',
    ],
    ...ASK,
    causes: [
      {
        when: { fact: 'who' },
        list: 'Cancelled; perhaps sent',
        cause: '{who} cancelled it {at}, but attempt {n} before may have arrived.',
      },
      {
        when: { fact: 'tooLate' },
        list: 'Expired; perhaps sent',
        cause: 'Its time was over {tooLate}, but attempt {n} before may have arrived.',
      },
      {
        when: { fact: 'blockedAt' },
        list: 'Blocked; perhaps sent',
        cause: '{to} was blocked {blockedAt}, but attempt {n} before may have arrived.',
      },
      {
        when: { fact: 'removedAt' },
        list: 'Removed; perhaps sent',
        cause: '{number} was removed {removedAt}, but attempt {n} before may have arrived.',
      },
      {
        when: { fact: 'reportedFailed' },
        list: 'One attempt failed',
        cause: '{network} reported that one attempt failed. Another may have arrived.',
      },
      {
        when: { fact: 'refusedN' },
        list: 'An earlier attempt unknown',
        cause: [
          'Attempt {refusedN} was rejected: {cause} But an earlier one may have arrived.',
          'Attempt {refusedN} was rejected, but an earlier one may have arrived.',
        ],
      },
      {
        when: { fact: 'unknowns' },
        list: 'Unknown more than once',
        cause: '{unknowns} attempts ended without a known result. It may have arrived never, once or several times.',
      },
      {
        when: { words: /^a test number:/ },
        list: 'Connection broke while sending',
        cause: '{to} is {words}.',
        example: 'a test number: the connection breaks',
      },
      {
        when: { words: UNCLEAR },
        list: 'Unclear answer',
        cause: [
          '{network} answered with HTTP {status} and did not say what became of it.',
          '{network} answered and did not say what became of it.',
        ],
        example: 'Meta answered with HTTP 502 and nothing that says what became of it',
      },
      {
        when: { words: NO_ANSWER },
        list: 'No answer',
        cause: [
          '{network} gave no answer to attempt {n}, and no report came within {wait}.',
          '{network} gave no answer to attempt {n}, and no report shows whether it arrived.',
          '{network} gave no answer, and no report shows whether it arrived.',
        ],
        example: 'it did not answer within 60 seconds',
      },
      {
        when: { words: /was interrupted|was to be sent twice/ },
        list: 'Cut off while sending',
        cause: [
          'Nuncio had to end the call during attempt {n}, and no report shows whether it arrived.',
          'Nuncio had to end the call, and no report shows whether it arrived.',
        ],
        example: 'it was interrupted before the answer of WhatsApp came',
      },
      {
        when: { words: /channel failed in a way/ },
        list: 'Error in Nuncio',
        cause: 'Nuncio failed while sending it. The message id finds the error in its log.',
        example: 'the channel failed in a way it should not',
      },
      {
        when: { words: BROKE },
        list: 'Connection broke while sending',
        cause: [
          'The connection to {network} broke during attempt {n}, and no report came within {wait}.',
          'The connection to {network} broke during attempt {n}, and no report shows whether it arrived.',
          'The connection to {network} broke, and no report shows whether it arrived.',
        ],
        example: 'Meta broke the connection',
      },
    ],
  },
  stopped_while_sending: {
    list: 'Nuncio stopped while sending',
    cause: [
      'Nuncio stopped during attempt {n}, and {network} could not say whether it left.',
      'Nuncio stopped while it was being sent, and no report shows whether it arrived.',
    ],
    ...ASK,
  },
  quarantined: {
    list: 'Nuncio stopped three times',
    cause: 'Nuncio stopped three times while sending it, so it is not tried again.',
    nextStep: `${ASK.nextStep} Report it with its id: sending it again may stop Nuncio again.`,
    command: ASK.command,
    causes: [
      {
        when: { state: 'FAILED' },
        cause: 'Nuncio stopped three times while sending it; {network} showed that it never left.',
        nextStep: 'Report it with its id. “Retry” tries it again, which may stop Nuncio again.',
        command: RETRY,
      },
    ],
  },
  possible_duplicate: {
    list: 'Perhaps sent twice',
    cause: [
      'The result of attempt {n} is unknown. {number} is set to send once more in that case.',
      'The result of an attempt is unknown, and {number} is set to send once more in that case.',
    ],
    nextStep:
      'You need not do anything. To avoid doubles, choose “Leave it unconfirmed” in the settings of the connection.',
    command: commandLine`connection set NUMBER on_unconfirmed=leave`,
    opens: 'connection',
  },
  marked_arrived: {
    list: ['Marked as arrived by {who}', 'Marked as arrived'],
    cause: ['{network} did not confirm it. {who} said that it arrived.', 'A person said that it arrived.'],
    nextStep: NO_ACTION,
  },
  evidence_found: {
    list: 'Confirmed by a report',
    cause: [
      'The result of attempt {n} was unknown. A report {later} later shows that {network} has it.',
      'The result of attempt {n} was unknown. A report shows that {network} has it.',
      'A report from {network} shows that it has it.',
    ],
    nextStep: NO_ACTION,
    causes: [
      {
        when: { fact: 'afterFailure' },
        list: 'Failed, then delivered',
        cause: '{network} first said that it failed. Later it reported that it has it.',
      },
      {
        when: { fact: 'givenUp' },
        list: 'Given up, then delivered',
        cause: 'Nuncio had given it up. A report from {network} shows that it has it.',
      },
      {
        when: { fact: 'beforeRepeat' },
        cause: 'It was about to be sent once more. A report came first, so it was not.',
      },
      {
        when: { fact: 'forgotten' },
        cause: 'It was sent before the database was set back. A report shows it, so it is not sent again.',
      },
      {
        // Given where the process stopped.
        when: { fact: 'attempts' },
        cause: 'Nuncio stopped during attempt {n}. A report from {network} shows that it has it.',
      },
      {
        when: { words: UNCLEAR },
        cause: [
          '{network} did not say what became of attempt {n}. A report {later} later shows that it has it.',
          '{network} did not say what became of attempt {n}. A report shows that it has it.',
          '{network} did not say what became of it. A report shows that it has it.',
        ],
        example: 'Meta answered with HTTP 502 and nothing that says what became of it',
      },
      {
        when: { words: NO_ANSWER },
        cause: [
          '{network} gave no answer to attempt {n}. A report {later} later shows that it has it.',
          '{network} gave no answer to attempt {n}. A report shows that it has it.',
          '{network} gave no answer. A report shows that it has it.',
        ],
        example: 'Meta did not answer in time, or the call was stopped',
      },
      {
        when: { words: BROKE },
        cause: [
          'The connection to {network} broke during attempt {n}. A report {later} later shows that it has it.',
          'The connection to {network} broke during attempt {n}. A report shows that it has it.',
          'The connection to {network} broke. A report shows that it has it.',
        ],
        example: 'Meta broke the connection',
      },
    ],
  },
  evidence_not_sent: {
    list: 'Proven not sent',
    cause: ['{network} showed that attempt {n} did not leave.', '{network} showed that it did not leave.'],
    nextStep: 'You need not do anything while it waits: it is tried again. If it has failed, retry it.',
  },
  message_damaged: {
    list: 'Stored message is damaged',
    cause: 'The stored message no longer matches its checksum, so it was not sent.',
    nextStep: 'Send it again as a new message, and have the disk checked.',
    command: commandLine`verify`,
    failsAgain: true,
  },
  type_unsupported: {
    list: 'Type not possible here',
    cause: '{number} cannot send this type of message.',
    nextStep: 'Send it from another number.',
    failsAgain: true,
  },
  call_interrupted: {
    list: 'Stopped before it left',
    cause: 'The attempt was stopped before anything left.',
    nextStep: TRIED_AGAIN,
  },
  call_timed_out: {
    list: 'No answer in time',
    cause: '{network} did not answer in time.',
    ...ASK,
  },
  channel_fault: {
    list: 'Error in Nuncio',
    cause: 'Nuncio failed while sending it.',
    nextStep: 'Report it with the message id, which finds the error in the log of the service.',
  },
  secret_unreadable: {
    list: 'Token cannot be decrypted',
    cause: 'The stored credentials of {number} cannot be decrypted: their key is missing, or they were changed.',
    nextStep: 'Enter the credentials again, or ask the person who runs Nuncio to restore the key ring.',
    command: commandLine`secrets list`,
    opens: 'connection',
  },
  template_cannot_hold_text: {
    list: 'Text does not fit template',
    cause:
      'The 24 hours are over. A template cannot hold line breaks, tabs, rows of blanks or 1,024 characters and more.',
    nextStep: 'Send one shorter line of text, or wait until the recipient writes; then retry.',
    command: RETRY,
  },
  template_without_text: {
    list: 'Template has no caption',
    cause: 'The 24 hours are over, and the template for such files has no place for a caption.',
    nextStep: 'Send it without caption, choose a template with one variable, or wait until the recipient writes.',
    ...TEMPLATES,
  },
  template_wants_text: {
    list: 'Template needs a caption',
    cause: 'The 24 hours are over, and the template for such files needs a caption; this file has none.',
    nextStep: 'Send it with a caption, choose a template without variables, or wait until the recipient writes.',
    ...TEMPLATES,
  },
  template_none_for_audio: {
    list: 'No template for audio',
    cause: 'The 24 hours are over, and no template can carry audio.',
    nextStep: 'Send it as a document, or wait until the recipient writes; then retry.',
    command: RETRY,
  },
} as const satisfies Record<string, ReasonRow>
