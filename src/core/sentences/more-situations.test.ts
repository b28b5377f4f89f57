import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { AT, entry, NUMBER, readMessage, type Situation } from '../../../test/support/read-message.ts'
import type { MessageId } from '../ids.ts'

const earlier = (reason: string) => ({ id: 'm' as MessageId, type: 'image' as const, reason, until: AT + 210_000 })

const NO_ACTION = 'You need not do anything.'
const SENT_LATE = { state: 'PUBLISHED', publishedAt: AT + 45_000 } as const
const META = 'whatsapp-cloud'
const file = (code: string, words: string): Situation => ({ message: { reason: code, attempts: 0 }, words })
const queued = (reason: string, words: string | null = null, until: number | null = null): Situation => ({
  message: { state: 'QUEUED', attempts: 0 },
  channel: META,
  wait: { reason, words, until },
})
describe('a stranger learns from the log alone', () => {
  it.each<[string, Situation, readonly string[]]>([
    [
      'of a process that stood still during an attempt of a slow network',
      {
        message: { ...SENT_LATE, attempts: 2 },
        timeline: [
          entry('service-stopped', 0, { how: 'frozen', since: AT - 2_000, until: AT + 40_000, lastedMs: 42_000 }),
          entry('attempt-rejected', 40_000, { code: 'call_interrupted', attempt: 1 }),
          entry('attempt-accepted', 45_000, { attempt: 2, tookMs: 5_000 }),
        ],
      },
      [
        'Sent at the second attempt: the sandbox accepted it 45 s after the request.',
        'Nuncio stood still for 40 s.',
        NO_ACTION,
      ],
    ],
    [
      'of a wait that was longer than the time in which Nuncio stood still',
      {
        message: SENT_LATE,
        timeline: [
          entry('service-stopped', 0, { how: 'frozen', since: AT, until: AT + 15_000, lastedMs: 15_000 }),
          entry('waiting', 45_000, { code: 'quiet_hours', waitedMs: 30_000 }),
        ],
      },
      ['Sent: the sandbox accepted it 45 s after the request.', `It waited 30 s: quiet hours of ${NUMBER}.`, NO_ACTION],
    ],
    [
      'of a connection that broke, and of which the sandbox knows nothing',
      {
        message: { state: 'UNCONFIRMED', reason: 'result_unknown' },
        words: 'a test number: the connection breaks',
      },
      [
        'Nobody knows whether it arrived.',
        '15551112222 is a test number: the connection breaks.',
        'Ask 15551112222. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.',
      ],
    ],
    [
      'of a network that was away',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 10_100, attempts: 2 },
        timeline: [
          entry('attempt-begun', 5, { attempt: 1 }),
          entry('attempt-rejected', 20, { attempt: 1, code: 'connection_away' }),
          entry('waiting', 10_050, { code: 'connection_away', waitedMs: 10_030 }),
        ],
      },
      [
        'Sent at the second attempt: the sandbox accepted it 10 s after the request.',
        '15550001301 could not reach the sandbox for 10 s.',
        'You need not do anything.',
      ],
    ],
    [
      'of a file that is forbidden',
      file('media_status', 'files.example answered 403 (forbidden): the link needs sign-in or has run out.'),
      [
        'Not sent.',
        'files.example answered 403 (forbidden): the link needs sign-in or has run out.',
        'Send a new message with a fresh link.',
      ],
    ],
    [
      'of a host that failed each time',
      {
        ...file('media_status', 'files.example answered 500 (internal server error).'),
        timeline: [entry('media-retry', 1_000, { tries: 1 }), entry('media-failed', 157_000, { tries: 4 })],
      },
      [
        'Not sent.',
        'files.example answered 500 (internal server error), four times in 2 min 36 s.',
        'The host has a problem. Retry once it works.',
      ],
    ],
    [
      'of a host that is too slow',
      file('media_timeout', 'files.example did not answer the request within 10 s.'),
      [
        'Not sent.',
        'files.example did not answer the request within 10 s.',
        'Make the host answer faster, then retry.',
      ],
    ],
    [
      'of a page in place of the file',
      file('media_wrong_type', 'The file is an HTML page, but type image takes JPEG, PNG, WebP or GIF.'),
      [
        'Not sent.',
        'The file is an HTML page, but type image takes JPEG, PNG, WebP or GIF.',
        'It is often a sign-in or error page: open the URL in a private window.',
      ],
    ],
    [
      'of a file that is too big',
      file('media_too_big', 'The file has 6.2 MB; type image may have at most 5.0 MB.'),
      [
        'Not sent.',
        'The file has 6.2 MB; type image may have at most 5.0 MB.',
        'Send a smaller file, or as a document.',
      ],
    ],
    [
      'of a redirect to a private address',
      file('media_blocked', 'files.example redirects to 10.1.2.3, which is not a public address.'),
      [
        'Not sent.',
        'files.example redirects to 10.1.2.3, which is not a public address.',
        'Give a public URL that does not redirect there, in a new message.',
      ],
    ],
    [
      'of a host that does not exist',
      file('media_dns', 'The name "no-such-host.example" does not exist.'),
      ['Not sent.', 'The name "no-such-host.example" does not exist.', 'Check the host in the URL, then retry.'],
    ],
    [
      'of a certificate from no known authority',
      file('media_tls', 'The certificate of files.example is self-signed.'),
      ['Not sent.', 'The certificate of files.example is self-signed.', 'Use one from a public authority, then retry.'],
    ],
    [
      'of a host that did not exist, at each try',
      {
        ...file('media_dns', 'The name "no-such-host.example" does not exist.'),
        timeline: [entry('media-retry', 1_000, { tries: 1 }), entry('media-failed', 157_000, { tries: 4 })],
      },
      [
        'Not sent.',
        'The name "no-such-host.example" does not exist. Nuncio tried four times in 2 min 36 s.',
        'Check the host in the URL, then retry.',
      ],
    ],
    [
      'of DNS servers that did not answer behind a redirect',
      file('media_dns', 'Behind 1 redirect: No DNS server answered for the name "cdn.example" within 5 s.'),
      [
        'Not sent.',
        'Behind 1 redirect: No DNS server answered for the name "cdn.example" within 5 s.',
        'Retry later. If other hosts fail too, ask the person who runs Nuncio.',
      ],
    ],
    [
      'of a TLS connection that broke behind a redirect',
      file('media_tls', 'Behind 1 redirect: The TLS connection to cdn.example broke (EPROTO).'),
      [
        'Not sent.',
        'Behind 1 redirect: The TLS connection to cdn.example broke (EPROTO).',
        'Check its TLS settings, then retry.',
      ],
    ],
    [
      'of quiet hours after a network that was away for a moment',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 32_460_000, attempts: 2 },
        timeline: [
          entry('attempt-begun', 5, { attempt: 1 }),
          entry('attempt-rejected', 20, { attempt: 1, code: 'connection_away' }),
          entry('waiting', 32_460_000, { code: 'quiet_hours', waitedMs: 32_400_000 }),
        ],
      },
      [
        'Sent at the second attempt: the sandbox accepted it 9 h 1 min after the request.',
        'It waited 9 h: quiet hours of 15550001301.',
        'You need not do anything.',
      ],
    ],
    [
      'of a file that was cut off',
      file('media_truncated', 'files.example closed the connection before the whole file had arrived.'),
      [
        'Not sent.',
        'files.example closed the connection before the whole file had arrived.',
        'Check the host, then retry.',
      ],
    ],
    [
      'of an empty file',
      file('media_truncated', 'files.example sent an empty file (0 bytes).'),
      ['Not sent.', 'files.example sent an empty file (0 bytes).', 'Check the file at this URL, then retry.'],
    ],
    [
      'of a time to live that was over during a pause, with the person',
      {
        message: { state: 'EXPIRED', reason: 'time_to_live_over', attempts: 0 },
        timeline: [
          entry('waiting', 15_000, { code: 'paused', begunBy: 'anna@example.org', waitedMs: 14_000 }),
          entry('settled', 15_000, { state: 'EXPIRED' }),
        ],
      },
      [
        'Not sent.',
        'It waited 15 s, longer than 15550001301 lets it: anna@example.org had paused 15550001301.',
        'Retry it if it is still wanted.',
      ],
    ],
    [
      'of a number that is too fast for Meta',
      queued('whatsapp_130429', '(#130429) Rate limit hit', AT + 65_000),
      ['Not sent yet.', '15550001301 sends faster than Meta allows.', 'You need not do anything: it is tried again.'],
    ],
    [
      'of a payment problem',
      queued('whatsapp_131042', '(#131042) payment'),
      [
        'Not sent yet.',
        'Meta sends nothing until a payment problem of the business account is solved.',
        'Fix the payment method in Meta’s Business Settings; sending goes on by itself.',
      ],
    ],
    [
      'of too many messages to one person',
      queued('whatsapp_131056', '(#131056) pair'),
      [
        'Not sent yet.',
        'Too many messages went to this recipient in a short time.',
        'You need not do anything: it is tried again.',
      ],
    ],
    [
      'of a number that too many people blocked',
      queued('whatsapp_131048', '(#131048) spam'),
      [
        'Not sent yet.',
        'Too many recipients blocked or reported 15550001301, so Meta limits it.',
        'Follow what WhatsApp Manager says of the number. Do not retry meanwhile: that makes it worse.',
      ],
    ],
    [
      'of 24 hours that are over, without a template',
      { message: { reason: 'whatsapp_131047' }, channel: META },
      [
        'Not sent.',
        '15551112222 has not written to 15550001301 for 24 hours, so Meta takes only approved templates.',
        'Wait until 15551112222 writes, or choose a template for such messages in the settings of the connection; then retry it.',
      ],
    ],
    [
      'of a recipient who is not on WhatsApp',
      { message: { reason: 'whatsapp_131026' }, channel: META },
      [
        'Not sent.',
        '15551112222 is not on WhatsApp, has an old version of it, or has not accepted its terms.',
        'Check the number, and have 15551112222 update WhatsApp; then retry it.',
      ],
    ],
    [
      'of a template that was used',
      {
        message: { state: 'READ', publishedAt: AT + 60_000, attempts: 2 },
        channel: META,
        timeline: [
          entry('attempt-begun', 10, { attempt: 1 }),
          entry('attempt-rejected', 20, { attempt: 1, code: 'whatsapp_131047' }),
          entry('attempt-begun', 59_900, { attempt: 2, template: 'notice (en_US)' }),
          entry('receipt-read', 62_000),
        ],
      },
      [
        'Sent after 1 min, read after 1 min 2 s.',
        'Sent as template notice (en_US): 15551112222 had not written for 24 hours.',
        'You need not do anything.',
      ],
    ],
    [
      'of a failure that Meta reported later',
      { message: { reason: 'whatsapp_131026', publishedAt: AT + 5 }, channel: META },
      [
        'Sent, but not delivered.',
        '15551112222 is not on WhatsApp, has an old version of it, or has not accepted its terms.',
        'Check the number, and have 15551112222 update WhatsApp; then retry it.',
      ],
    ],
    [
      'of an answer that never came, and a report that did',
      {
        message: { state: 'READ', publishedAt: AT + 90_000, reason: 'evidence_found' },
        channel: META,
        timeline: [
          entry('attempt-unknown', 30_000, { attempt: 1, words: 'no answer' }),
          entry('attempt-accepted', 90_000, { attempt: 1, code: 'evidence_found' }),
          entry('receipt-read', 90_000, { networkTime: AT - 853 }),
        ],
      },
      [
        'Sent and read.',
        'Meta gave no answer to attempt 1. A report 1 min later shows that it has it.',
        'You need not do anything.',
      ],
    ],
    [
      'of quiet hours by the clock of the sentences, named once',
      {
        message: { state: 'QUEUED', attempts: 0 },
        wait: { reason: 'quiet_hours', words: null, until: AT + 3_600_000 },
        policy: { quietHours: { from: '20:00', to: '13:00', timeZone: 'UTC' } },
        more: { position: 1 },
      },
      [
        'Not sent yet.',
        '15550001301 sends nothing until 13:00 UTC.',
        'You need not do anything. To send now, change the quiet hours.',
      ],
    ],
    [
      'of a message before it that had no result yet',
      {
        message: { state: 'PUBLISHED', publishedAt: AT + 62_000 },
        timeline: [entry('waiting', 62_000, { code: 'behind_others', openMs: 61_000, waitedMs: 61_900 })],
      },
      [
        'Sent: the sandbox accepted it 1 min 2 s after the request.',
        'It waited 1 min 1 s: the message before it had no result yet.',
        'You need not do anything.',
      ],
    ],
    [
      'of an earlier message to the same recipient',
      {
        message: { state: 'QUEUED', attempts: 0, reason: 'behind_others' },
        more: { position: 5, waitsFor: earlier('retrying') },
      },
      [
        'Not sent yet.',
        'It waits for an earlier image to the same recipient: it is tried again at 12:03:30 UTC.',
        'You need not do anything: it is sent after that one.',
      ],
    ],
    [
      'of an earlier file to the same recipient, whose download failed',
      {
        message: { state: 'QUEUED', attempts: 0, reason: 'behind_others' },
        more: { position: 5, waitsFor: earlier('media_pending') },
      },
      [
        'Not sent yet.',
        'It waits for an earlier image to the same recipient: its download is tried again at 12:03:30 UTC.',
        'You need not do anything: it is sent after that one.',
      ],
    ],
    [
      'of an earlier file to the same recipient that is uploaded, without the time at which that is given up',
      {
        message: { state: 'QUEUED', attempts: 0, reason: 'behind_others' },
        more: { position: 5, waitsFor: earlier('media_uploading') },
      },
      [
        'Not sent yet.',
        'It waits for an earlier image to the same recipient: its file is uploaded first.',
        'You need not do anything: it is sent after that one.',
      ],
    ],
    [
      'of a person who held all numbers',
      queued('database_went_back', 'restored the backup of Monday'),
      [
        'Not sent yet.',
        'A person held all numbers: “restored the backup of Monday”.',
        'Ask the person who runs Nuncio to release them when that is over.',
      ],
    ],
    [
      'of data that was copied to another database',
      queued('database_went_back', 'the data were copied to PostgreSQL at localhost:5432/nuncio'),
      [
        'Not sent yet.',
        'This data was copied to another database, and only one of the two may send.',
        'Ask the person who runs Nuncio which of the two sends now.',
      ],
    ],
  ])('%s', (_, situation, lines) => {
    assert.deepEqual(readMessage(situation), lines)
  })
})
