import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { AT, entry, NUMBER, readMessage, type Situation, viewOf } from '../../../test/support/read-message.ts'
import { explainMessage } from './explain-message.ts'

const META = 'whatsapp-cloud'
const NO_ACTION = 'You need not do anything.'
const ASK_ALONE = 'Ask 15551112222. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.'
const ASK = `${ASK_ALONE} A late report still settles it.`
const REMOVED = `It cannot be sent again: ${NUMBER} was removed. If you know that it arrived, choose “It arrived”. Else send a new message from another number, or add ${NUMBER} again.`
const BLOCKED =
  '15551112222 is on the block list now. If you know that it arrived, choose “It arrived”. Else unblock it before you send it again.'
const UNKNOWN = 'Nobody knows whether it arrived.'
const unconfirmed = (words: string | null, more: Partial<Situation> = {}): Situation => ({
  message: { state: 'UNCONFIRMED', reason: 'result_unknown' },
  channel: META,
  ...(words === null ? {} : { words }),
  timeline: [entry('attempt-unknown', 20, { attempt: 1, words }), entry('evidence', 60_020, { attempt: 1 })],
  ...more,
})
/** It waited to be sent once more. */
const takenOut = (more: Partial<Situation['more']>, how: { readonly code?: string } = {}): Situation => ({
  message: { state: 'UNCONFIRMED', reason: 'result_unknown' },
  channel: META,
  timeline: [entry('attempt-unknown', 20, { attempt: 1 }), entry('settled', 9_000, { state: 'UNCONFIRMED', ...how })],
  more: { ...more },
})
const act = (by: string, ms: number) => ({ by, at: AT + ms })

describe('a result that is unknown', () => {
  const BROKE = (network: string) =>
    `The connection to ${network} broke during attempt 1, and no report came within 1 min.`
  const RESULT = 'The result of attempt 1 is unknown, and no report came within 1 min.'
  it.each([
    ['Meta took no connection in time', RESULT],
    ['Meta refused the connection', RESULT],
    ['the gateway has no line within 3 rooms', RESULT],
    ['Meta closed the connection before its answer was complete', BROKE('Meta')],
    ['the line to WhatsApp ended before its answer came', BROKE('WhatsApp')],
    ['The adapter closed the connection without an answer.', BROKE('the adapter')],
  ])('is said to be of a broken connection only by words of our own: %s', (words, expected) => {
    const channel = /WhatsApp/.test(words) ? 'whatsapp-web' : /adapter/.test(words) ? 'bridge' : META
    const [, cause] = readMessage(unconfirmed(words, { channel }))
    assert.equal(cause, expected)
  })
})

describe('a stranger learns from the log alone', () => {
  it.each<[string, Situation, readonly string[]]>([
    [
      'when it is sent once more',
      {
        message: { state: 'QUEUED', reason: 'retrying' },
        channel: META,
        wait: { reason: 'retrying', words: null, until: AT + 120_000 },
        timeline: [entry('attempt-unknown', 20, { attempt: 1 })],
      },
      [
        'It may have been sent already. Nuncio sends it once more at 12:02 UTC.',
        `The result of attempt 1 is unknown. ${NUMBER} is set to send once more in that case; it may arrive twice.`,
        'If 15551112222 has it, cancel this one.',
      ],
    ],
    [
      'when the attempt after one that may have arrived is tried again',
      {
        message: { state: 'QUEUED', reason: 'retrying', attempts: 2 },
        channel: META,
        wait: { reason: 'retrying', words: null, until: AT + 120_000 },
        timeline: [
          entry('attempt-unknown', 20, { attempt: 1 }),
          entry('attempt-rejected', 9_000, { attempt: 2, code: 'busy' }),
        ],
      },
      [
        'It may have been sent already. Nuncio sends it once more at 12:02 UTC.',
        'Attempt 2 did not leave: Meta was busy and did not accept the message. But attempt 1 before may have arrived.',
        'If 15551112222 has it, cancel this one.',
      ],
    ],
    [
      'of an attempt that counts as no try, because its number failed',
      {
        message: { state: 'QUEUED', reason: 'retrying' },
        wait: { reason: 'retrying', words: null, until: AT + 120_000 },
        timeline: [entry('attempt-rejected', 20, { attempt: 1, code: 'network_error' })],
        more: { tries: 0 },
      },
      [
        'Not sent yet, after 1 attempt.',
        'The last attempt did not leave: The sandbox could not be reached. Nothing was sent.',
        NO_ACTION,
      ],
    ],
    [
      'nothing of why it was sent again where nothing shows that the attempt had not left',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 7_100, attempts: 2 },
        channel: 'whatsapp-web',
        timeline: [
          entry('recovered', 20, { attempt: 1 }),
          entry('attempt-unknown', 5_000, { attempt: 1 }),
          entry('attempt-accepted', 7_100, { attempt: 2 }),
        ],
      },
      ['Sent at the second attempt: WhatsApp accepted it 7.1 s after the request.', '', NO_ACTION],
    ],
    [
      'who marked it as arrived, and when',
      {
        message: { state: 'PUBLISHED', reason: 'marked_arrived' },
        timeline: [entry('resolved', 60_000, { by: 'cli', as: 'arrived' })],
      },
      [
        'The command line marked it as arrived at 12:01 UTC.',
        'The sandbox did not confirm it. The command line said that it arrived.',
        NO_ACTION,
      ],
    ],
    [
      'of a number that was removed after the failure',
      {
        message: { reason: 'busy' },
        more: { connectionState: 'removed', removed: act('anna@example.org', 60_000) },
      },
      [
        'Not sent.',
        `The sandbox was busy and did not accept the message. anna@example.org removed ${NUMBER} at 12:01 UTC.`,
        `Add ${NUMBER} again; “Retry” then appears here.`,
      ],
    ],
    [
      'of a report that contradicts the failure',
      {
        message: { reason: 'whatsapp_131026' },
        channel: META,
        timeline: [entry('receipt-contrary', 60_000, { words: 'delivered' })],
      },
      [
        'Not sent.',
        '15551112222 is not on WhatsApp, has an old version of it, or has not accepted its terms. But Meta also reported: delivered, at 12:01 UTC.',
        'Ask the recipient before you retry: it may have arrived.',
      ],
    ],
    [
      'of a report that contradicts a refusal, while it waits',
      {
        message: { state: 'QUEUED', reason: 'retrying' },
        channel: META,
        wait: { reason: 'retrying', words: null, until: AT + 120_000 },
        timeline: [
          entry('attempt-rejected', 20, { attempt: 1, code: 'busy' }),
          entry('receipt-contrary', 60_000, { words: 'read' }),
        ],
      },
      [
        'Not sent yet, after 1 attempt.',
        'Meta rejected it, but also reported: read, at 12:01 UTC. It is still to be sent.',
        'If 15551112222 has it, cancel this one.',
      ],
    ],
    [
      'of a copy that was sent, and whose original arrived after all',
      { message: { state: 'DELIVERED', publishedAt: AT + 5 }, more: { repeatsWhatLeft: true } },
      [
        'Sent and delivered.',
        'It repeats a message that has arrived after all.',
        'You need not do anything. The recipient has it twice.',
      ],
    ],
    [
      'of a copy that failed, and whose original arrived after all',
      { message: { reason: 'recipient_refused' }, more: { repeatsWhatLeft: true } },
      [
        'Not sent.',
        'The sandbox rejects 15551112222 for good.',
        'Check the number, and send a new message to the right one.',
      ],
    ],
    [
      'of a file that came at the third try',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 40_000 },
        timeline: [entry('media-retry', 9_000, { tries: 2 }), entry('media-fetched', 38_000, { tries: 3 })],
      },
      [
        'Sent: the sandbox accepted it 40 s after the request.',
        'The file was downloaded at the third try, after 38 s.',
        NO_ACTION,
      ],
    ],
    [
      'of a device that could not read it',
      {
        message: { state: 'DELIVERED', publishedAt: AT + 5 },
        channel: 'whatsapp-web',
        timeline: [entry('receipt-delivered', 500), entry('receipt-unreadable', 900)],
      },
      [
        'Sent after 5 ms, delivered after 500 ms.',
        'One device of 15551112222 could not read it, so it was sent to that device again.',
        NO_ACTION,
      ],
    ],
    [
      'of an adapter that does not know',
      unconfirmed('The adapter does not know what became of it: WAHA did not answer within 10 s', {
        channel: 'bridge',
      }),
      [UNKNOWN, 'The adapter answered and did not say what became of it.', ASK_ALONE],
    ],
    [
      'which attempt broke before it was sent once more',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 900, reason: 'possible_duplicate', attempts: 2 },
        timeline: [entry('attempt-unknown', 20, { attempt: 1 })],
      },
      [
        'Sent, perhaps twice.',
        `The result of attempt 1 is unknown. ${NUMBER} is set to send once more in that case.`,
        'You need not do anything. To avoid doubles, choose “Leave it unconfirmed” in the settings of the connection.',
      ],
    ],
    [
      'how long a report was awaited',
      unconfirmed('Meta broke the connection'),
      [UNKNOWN, 'The connection to Meta broke during attempt 1, and no report came within 1 min.', ASK],
    ],
    [
      'of a result that is unknown for a reason that no sentence knows',
      unconfirmed('Meta’s answer was too long'),
      [UNKNOWN, 'The result of attempt 1 is unknown, and no report came within 1 min.', ASK],
    ],
    [
      'of a call that lasted too long',
      unconfirmed('the call to the channel took longer than it may'),
      [UNKNOWN, 'Meta gave no answer to attempt 1, and no report came within 1 min.', ASK],
    ],
    [
      'of an answer that says nothing',
      unconfirmed('Meta answered with HTTP 502 and nothing that says what became of it'),
      [UNKNOWN, 'Meta answered with HTTP 502 and did not say what became of it.', ASK],
    ],
    [
      'of a call that Nuncio ended itself',
      unconfirmed('it was interrupted before the answer of WhatsApp came', { channel: 'whatsapp-web' }),
      [UNKNOWN, 'Nuncio had to end the call during attempt 1, and no report shows whether it arrived.', ASK],
    ],
    [
      'of an error in Nuncio',
      unconfirmed('the channel failed in a way it should not'),
      [UNKNOWN, 'Nuncio failed while sending it. The message id finds the error in its log.', ASK],
    ],
    [
      'of a time that was over before it was sent once more',
      takenOut({}, { code: 'time_to_live_over' }),
      [UNKNOWN, 'Its time was over at 12:00 UTC, but attempt 1 before may have arrived.', ASK],
    ],
    [
      'of a recipient who was blocked before it was sent once more',
      takenOut({ block: { ...act('cli', 8_000), why: null } }),
      [UNKNOWN, '15551112222 was blocked at 12:00 UTC, but attempt 1 before may have arrived.', BLOCKED],
    ],
    [
      'of one that waited to be sent once more, whatever the time to live is today',
      { ...takenOut({}), policy: { timeToLiveMs: 9_000 } },
      [UNKNOWN, 'The result of attempt 1 is unknown, and no report shows whether it arrived.', ASK],
    ],
    [
      'of an allowance of new recipients for which it waited until its time was over',
      {
        message: { state: 'EXPIRED', reason: 'time_to_live_over', attempts: 0 },
        channel: 'whatsapp-web',
        timeline: [
          entry('waiting', 86_400_000, { code: 'new_recipients', waitedMs: 86_400_000 }),
          entry('settled', 86_400_000, { state: 'EXPIRED', waitedFor: 'new_recipients' }),
        ],
      },
      [
        'Not sent.',
        `It waited 1 d, longer than ${NUMBER} lets it: ${NUMBER} had written to as many new recipients as it may.`,
        'Retry it if it is still wanted. To let messages wait longer, raise the time to live.',
      ],
    ],
    [
      'of a number that was removed before it was sent once more',
      takenOut({ connectionState: 'removed', removed: act('cli', 9_000) }),
      [UNKNOWN, `${NUMBER} was removed at 12:00 UTC, but attempt 1 before may have arrived.`, REMOVED],
    ],
    [
      'of one attempt that was reported to have failed, while another may have arrived',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown', publishedAt: AT + 500, attempts: 2 },
        channel: META,
        timeline: [entry('attempt-unknown', 20, { attempt: 1 }), entry('receipt-failed', 900)],
      },
      [UNKNOWN, 'Meta reported that one attempt failed. Another may have arrived.', ASK],
    ],
    [
      'of a time to live that was over while Nuncio did not run',
      {
        message: { state: 'EXPIRED', reason: 'time_to_live_over', attempts: 0 },
        timeline: [
          entry('waiting', 5_000, { code: 'behind_others', waitedMs: 5_000 }),
          entry('service-stopped', 0, { since: AT - 3_600_000, until: AT + 10_000, lastedMs: 3_610_000 }),
          entry('service-stopped', 20_000, { since: AT + 20_000, until: AT + 7_200_000, lastedMs: 7_180_000 }),
          entry('settled', 60_000, { state: 'EXPIRED' }),
        ],
      },
      [
        'Not sent.',
        `It waited 1 min, longer than ${NUMBER} lets it. Nuncio was not running for 50 s of it.`,
        'Retry it if it is still wanted.',
      ],
    ],
    [
      'of a time to live that was over without an approval',
      {
        message: { state: 'EXPIRED', reason: 'time_to_live_over', attempts: 0 },
        timeline: [
          entry('waiting', 60_000, { code: 'backlog_confirmation', waitedMs: 60_000 }),
          entry('settled', 60_000, { state: 'EXPIRED' }),
        ],
      },
      [
        'Not sent.',
        `It waited 1 min, longer than ${NUMBER} lets it. The backlog was not approved.`,
        'Retry it if it is still wanted.',
      ],
    ],
    [
      'of nine tries, and the last cause',
      {
        message: { reason: 'tries_used_up', attempts: 9 },
        timeline: [
          entry('attempt-begun', 0, { attempt: 1 }),
          entry('attempt-rejected', 1_200_000, { attempt: 9, code: 'busy' }),
        ],
      },
      [
        'Not sent.',
        'Nine tries in 20 min failed. The last: The sandbox was busy and did not accept the message.',
        'Fix the cause that its attempts show, then retry.',
      ],
    ],
    [
      'of nine uploads',
      { message: { reason: 'tries_used_up', attempts: 0 }, channel: META },
      ['Not sent.', 'The file could not be brought to Meta, nine times.', 'Retry once it works.'],
    ],
  ])('%s', (_, situation, lines) => {
    assert.deepEqual(readMessage(situation), lines)
  })

  it('that the template failed, too', () => {
    const resent = { id: 'copy', state: 'FAILED', reason: 'whatsapp_132001', words: null, by: 'channel' } as never
    const { list } = explainMessage(viewOf({ message: { reason: 'whatsapp_131047' }, channel: META, more: { resent } }))

    assert.equal(list, 'Failed as a template, too')
  })

  it('in lists the beginning of a long name', () => {
    const timeline = [entry('cancelled', 0, { code: 'cancelled_by_person', by: 'bernadette.smith@example.org' })]
    const message = { state: 'CANCELLED', reason: 'cancelled_by_person' } as const
    const { list } = explainMessage(viewOf({ message, timeline }))

    assert.equal(list, 'Cancelled by bernadette.smith@…')
  })
})
