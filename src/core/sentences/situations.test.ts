import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { AT, entry, NUMBER, readMessage, type Situation } from '../../../test/support/read-message.ts'

const SENT = { state: 'PUBLISHED', publishedAt: AT + 7_100 } as const
const WAITS = { state: 'QUEUED', attempts: 0 } as const
const META = 'whatsapp-cloud'
const NO_ACTION = 'You need not do anything.'
const ASK = 'Ask 15551112222. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.'
const lane = (reason: string, words: string | null = null, until: number | null = null) => ({ reason, words, until })
const busy = entry('attempt-rejected', 100, { code: 'busy', attempt: 1 })

describe('a stranger learns from the log alone', () => {
  it.each<[string, Situation, readonly string[]]>([
    [
      'of a refused number',
      { message: { reason: 'recipient_refused' } },
      [
        'Not sent.',
        'The sandbox rejects 15551112222 for good.',
        'Check the number, and send a new message to the right one.',
      ],
    ],
    [
      'of a network that was busy twice',
      { message: { ...SENT, attempts: 3 }, timeline: [busy, busy] },
      [
        'Sent at the third attempt: the sandbox accepted it 7.1 s after the request.',
        'The sandbox was busy twice.',
        NO_ACTION,
      ],
    ],
    [
      'of a connection that broke',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown' },
        words: 'a test number: the connection breaks',
      },
      ['Nobody knows whether it arrived.', '15551112222 is a test number: the connection breaks.', ASK],
    ],
    [
      'of a message that was sent once more, and broke again',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown', attempts: 2 },
        timeline: [entry('attempt-unknown', 100, { attempt: 1 }), entry('attempt-unknown', 900, { attempt: 2 })],
      },
      [
        'Nobody knows whether it arrived.',
        '2 attempts ended without a known result. It may have arrived never, once or several times.',
        ASK,
      ],
    ],
    [
      'of a message that was sent once more after an attempt that had not left, and broke again',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown', attempts: 2 },
        timeline: [
          entry('attempt-unknown', 100, { attempt: 1 }),
          entry('attempt-rejected', 500, { attempt: 1, code: 'evidence_not_sent' }),
          entry('attempt-unknown', 900, { attempt: 2 }),
        ],
      },
      [
        'Nobody knows whether it arrived.',
        'The result of attempt 2 is unknown, and no report shows whether it arrived.',
        ASK,
      ],
    ],
    [
      'of a message that broke, and of which the second attempt had not left',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown', attempts: 2 },
        timeline: [
          entry('attempt-unknown', 100, { attempt: 1 }),
          entry('attempt-unknown', 900, { attempt: 2 }),
          entry('attempt-rejected', 1_500, { attempt: 2, code: 'evidence_not_sent' }),
        ],
      },
      [
        'Nobody knows whether it arrived.',
        'The result of attempt 1 is unknown, and no report shows whether it arrived.',
        ASK,
      ],
    ],
    [
      'of a message that was sent once more, and refused',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown', attempts: 2 },
        timeline: [
          entry('attempt-unknown', 100, { attempt: 1 }),
          entry('attempt-rejected', 900, { attempt: 2, code: 'recipient_refused' }),
        ],
      },
      [
        'Nobody knows whether it arrived.',
        'Attempt 2 was rejected: The sandbox rejects 15551112222 for good. But an earlier one may have arrived.',
        ASK,
      ],
    ],
    [
      'of a network that was slow',
      { message: SENT, timeline: [entry('attempt-accepted', 5_000, { attempt: 1, tookMs: 5_000 })] },
      ['Sent: the sandbox accepted it 7.1 s after the request.', 'The sandbox took 5 s to answer.', NO_ACTION],
    ],
    [
      'of a failure that was reported later',
      { message: { reason: 'refused_later', publishedAt: AT + 5 } },
      [
        'Sent, but not delivered.',
        'The sandbox accepted it and reported later that it failed.',
        'Check the recipient, then retry.',
      ],
    ],
    [
      'of three stops of which none sent it',
      { message: { reason: 'quarantined', attempts: 3 } },
      [
        'Not sent.',
        'Nuncio stopped three times while sending it; the sandbox showed that it never left.',
        'Report it with its id. “Retry” tries it again, which may stop Nuncio again.',
      ],
    ],
    [
      'of a file that is not there',
      { message: { reason: 'media_status', attempts: 0 }, words: 'files.example answered 404 (not found).' },
      ['Not sent.', 'files.example answered 404 (not found).', 'Check the URL. If the file is there now, retry.'],
    ],
    [
      'of a host that fails',
      {
        message: { reason: 'media_status', attempts: 0 },
        words: 'files.example answered 500 (internal server error).',
      },
      [
        'Not sent.',
        'files.example answered 500 (internal server error).',
        'The host has a problem. Retry once it works.',
      ],
    ],
    [
      'of a redirect loop',
      { message: { reason: 'media_protocol', attempts: 0 }, words: 'files.example redirected more than 5 times.' },
      [
        'Not sent.',
        'files.example redirected more than 5 times.',
        'Give the URL that the file finally has, in a new message.',
      ],
    ],
    [
      'of a pause, with the person and the time',
      { message: WAITS, wait: lane('paused'), more: { paused: { by: 'anna@example.org', at: AT } } },
      ['Not sent yet.', `anna@example.org paused ${NUMBER} at 12:00 UTC.`, `Resume ${NUMBER}.`],
    ],
    [
      'of a removed connection',
      {
        message: { state: 'CANCELLED', reason: 'connection_removed', attempts: 0 },
        more: { connectionState: 'removed', removed: { by: 'cli', at: AT } },
      },
      [
        'Not sent.',
        `The command line removed ${NUMBER} at 12:00 UTC and cancelled what waited.`,
        `Add ${NUMBER} again; “Retry” then appears here.`,
      ],
    ],
    [
      'of quiet hours, until when and where',
      {
        message: WAITS,
        wait: lane('quiet_hours', null, AT + 3_600_000),
        policy: { quietHours: { from: '20:00', to: '08:00', timeZone: 'Europe/Berlin' } },
        more: { position: 13 },
      },
      [
        'Not sent yet.',
        `${NUMBER} sends nothing until 13:00 UTC (08:00 in Europe/Berlin). 12 messages are before it.`,
        'You need not do anything. To send now, change the quiet hours.',
      ],
    ],
    [
      'of the pace, with the messages before it and its turn',
      {
        message: WAITS,
        wait: lane('pace', null, AT + 60_000),
        policy: { leastGapMs: 40_000 },
        more: { position: 19 },
      },
      [
        'Not sent yet.',
        `${NUMBER} sends one message each 40 s. 18 messages are before it, so it is sent about 12:13 UTC.`,
        'You need not do anything. To send faster, lower the least gap.',
      ],
    ],
    [
      'of a time to live that was over',
      {
        message: { state: 'EXPIRED', reason: 'time_to_live_over', attempts: 0 },
        timeline: [entry('settled', 10_000, { state: 'EXPIRED' })],
      },
      [
        'Not sent.',
        `It waited 10 s, longer than ${NUMBER} lets it.`,
        'Retry it if it is still wanted. To let messages wait longer, raise the time to live.',
      ],
    ],
    [
      'of a cancelled message, with the person',
      {
        message: { state: 'CANCELLED', reason: 'cancelled_by_person', attempts: 0 },
        timeline: [entry('cancelled', 0, { code: 'cancelled_by_person', by: 'cli' })],
      },
      ['Not sent.', 'The command line cancelled it at 12:00 UTC.', 'Retry it if it is wanted after all.'],
    ],
    [
      'of the block list, with the person and the reason',
      {
        message: { reason: 'recipient_blocked', attempts: 0 },
        more: { block: { by: 'cli', at: AT, why: 'asked by phone' } },
      },
      [
        'Not sent.',
        '15551112222 is on the block list: blocked from the command line at 12:00 UTC (“asked by phone”).',
        'You need not do anything. If that was a mistake, unblock the recipient, then retry.',
      ],
    ],
    [
      'of a process that was killed in mid-attempt',
      {
        message: { ...SENT, attempts: 2 },
        timeline: [
          entry('recovered', 900, { attempt: 1 }),
          entry('attempt-rejected', 950, { attempt: 1, code: 'evidence_not_sent' }),
        ],
      },
      [
        'Sent at the second attempt: the sandbox accepted it 7.1 s after the request.',
        'Nuncio stopped during attempt 1. The sandbox showed that it had not left, so it was sent again.',
        NO_ACTION,
      ],
    ],
    [
      'of a service that does not run',
      { message: WAITS, wait: lane('service_stopped') },
      ['Not sent yet.', 'Nuncio is not running, so nothing is sent.', 'Ask the person who runs Nuncio to start it.'],
    ],
    [
      'of a service that stopped while it was being sent',
      { message: { state: 'SENDING', reason: 'service_stopped' }, wait: lane('service_stopped') },
      [
        'Not known yet: Nuncio stopped while it was being sent.',
        'Nuncio is not running, so nothing is sent.',
        'Ask the person who runs Nuncio to start it.',
      ],
    ],
    [
      'of a process that is frozen',
      {
        message: WAITS,
        wait: lane(
          'service_stopped',
          'Process 12 has shown no sign of life since 15 Jan 2026, 11:59:57 UTC, but still holds the data. Nothing is sent.',
        ),
      },
      [
        'Not sent yet.',
        'Process 12 has shown no sign of life since 15 Jan 2026, 11:59:57 UTC, but still holds the data. Nothing is sent.',
        'Ask the person who runs Nuncio to restart that process.',
      ],
    ],
    [
      'of a full disk',
      {
        message: { state: 'SENDING', reason: 'storage_unavailable' },
        wait: lane('storage_unavailable', 'The disk is full.'),
      },
      [
        'Not known yet: its result cannot be stored now.',
        'The disk is full. Nothing can be accepted or sent.',
        'Ask the person who runs Nuncio to make room or repair the database. Nuncio goes on by itself.',
      ],
    ],
    [
      'of a token that Meta refuses',
      { message: WAITS, channel: META, wait: lane('whatsapp_190', '(#190) expired') },
      [
        'Not sent yet.',
        'The access token has expired or is not valid.',
        'Enter a valid token of the system user; sending goes on by itself.',
      ],
    ],
    [
      'of 24 hours that are over, sent again as a template by itself',
      {
        message: { reason: 'whatsapp_131047', publishedAt: AT + 5 },
        channel: META,
        more: { resent: { id: 'copy' as never, state: 'READ', reason: null, words: null, by: 'channel' } },
      },
      [
        'Sent, but not delivered.',
        `15551112222 has not written to ${NUMBER} for 24 hours, so Meta takes only approved templates. Nuncio sent it again as a template. That message was read.`,
        'You need not do anything here.',
      ],
    ],
    [
      'of a connection that broke before a report came',
      {
        message: { ...SENT, reason: 'evidence_found' },
        channel: META,
        timeline: [
          entry('attempt-unknown', 20, { attempt: 1, words: 'Meta broke the connection' }),
          entry('attempt-accepted', 1_800, { code: 'evidence_found', attempt: 1 }),
        ],
      },
      [
        'Sent: a report from Meta shows it.',
        'The connection to Meta broke during attempt 1. A report 1.7 s later shows that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a phone that is not online',
      { message: { state: 'PUBLISHED', publishedAt: AT - 5_000 }, channel: META },
      [
        'Sent: Meta accepted it.',
        'Meta has it. It has not reported delivery yet.',
        'You need not do anything: it is delivered when the phone is online.',
      ],
    ],
    [
      'of a failure that was reported after the delivery',
      {
        message: { state: 'DELIVERED', publishedAt: AT + 5 },
        channel: META,
        timeline: [entry('receipt-delivered', 900), entry('receipt-contrary', 2_000, { words: 'failed' })],
      },
      ['Sent after 5 ms, delivered after 900 ms.', 'Meta later reported a failure, too. Delivery counts.', NO_ACTION],
    ],
    [
      'of a delivery that was reported after the failure',
      {
        message: { state: 'READ', publishedAt: AT + 5 },
        channel: META,
        timeline: [
          entry('receipt-failed', 400),
          entry('receipt-contrary', 900, { words: 'delivered' }),
          entry('receipt-read', 2_000),
        ],
      },
      ['Sent after 5 ms, read after 2 s.', 'Meta reported that it was read; that includes delivery.', NO_ACTION],
    ],
    [
      'of reports that never come',
      {
        message: SENT,
        channel: META,
        more: {
          reportsMissing: {
            cause: 'Meta has reported nothing.',
            nextStep: 'Check the callback address.',
            command: null,
          },
        },
      },
      ['Sent: Meta accepted it 7.1 s after the request.', 'Meta has reported nothing.', 'Check the callback address.'],
    ],
    [
      'of a restored database',
      { message: WAITS, wait: lane('database_went_back', 'it was restored from the backup of 2026-01-14 03:00 UTC') },
      [
        'Not sent yet.',
        'The database was restored from a backup. What was sent since is not known here.',
        'Cancel what was sent meanwhile. Then ask the person who runs Nuncio to release all numbers.',
      ],
    ],
    [
      'of a message that may have been sent twice',
      { message: { ...SENT, reason: 'possible_duplicate', attempts: 2 } },
      [
        'Sent, perhaps twice.',
        `The result of an attempt is unknown, and ${NUMBER} is set to send once more in that case.`,
        'You need not do anything. To avoid doubles, choose “Leave it unconfirmed” in the settings of the connection.',
      ],
    ],
  ])('%s', (_, situation, lines) => {
    assert.deepEqual(readMessage(situation), lines)
  })
})
