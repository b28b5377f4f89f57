import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { AT, entry, readMessage, type Situation } from '../../../test/support/read-message.ts'

const META = 'whatsapp-cloud'
const NO_ACTION = 'You need not do anything.'
const byReport = (timeline: Situation['timeline']): Situation => ({
  message: { state: 'PUBLISHED', publishedAt: AT + 1_800, reason: 'evidence_found' },
  channel: META,
  timeline: timeline ?? [],
})

describe('a stranger learns of a report that shows what no answer did', () => {
  it.each<[string, Situation, readonly string[]]>([
    [
      'of a report that came before the next attempt',
      byReport([
        entry('attempt-unknown', 20, { attempt: 1 }),
        entry('receipt-sent', 1_800),
        entry('settled', 1_800, { state: 'PUBLISHED' }),
      ]),
      [
        'Sent: a report from Meta shows it.',
        'It was about to be sent once more. A report came first, so it was not.',
        NO_ACTION,
      ],
    ],
    [
      'of a report that came after it was given up',
      byReport([
        entry('attempt-unknown', 20, { attempt: 1 }),
        entry('settled', 60_020, { state: 'UNCONFIRMED' }),
        entry('receipt-sent', 90_020),
      ]),
      [
        'Sent: a report from Meta shows it.',
        'The result of attempt 1 was unknown. A report 1 min 30 s later shows that Meta has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report about an attempt that the database has lost',
      byReport([entry('receipt-sent', 1_800)]),
      [
        'Sent: a report from Meta shows it.',
        'It was sent before the database was set back. A report shows it, so it is not sent again.',
        NO_ACTION,
      ],
    ],
    [
      'of a report of delivery after one of a failure',
      byReport([entry('receipt-failed', 900), entry('receipt-contrary', 1_800, { words: 'delivered' })]),
      [
        'Sent: a report from Meta shows it.',
        'Meta first said that it failed. Later it reported that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report of delivery after Nuncio had given it up',
      byReport([
        entry('attempt-rejected', 20, { attempt: 1, code: 'network_error' }),
        entry('settled', 900, { state: 'FAILED' }),
        entry('receipt-contrary', 1_800, { words: 'delivered' }),
      ]),
      [
        'Sent: a report from Meta shows it.',
        'Nuncio had given it up. A report from Meta shows that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report of delivery after a refusal',
      byReport([
        entry('attempt-rejected', 20, { attempt: 1, code: 'whatsapp_131026' }),
        entry('settled', 20, { state: 'FAILED' }),
        entry('receipt-contrary', 1_800, { words: 'delivered' }),
      ]),
      [
        'Sent: a report from Meta shows it.',
        'Meta first said that it failed. Later it reported that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report of delivery after Nuncio stopped while sending it',
      {
        message: { state: 'DELIVERED', publishedAt: AT + 90_000 },
        channel: META,
        timeline: [
          entry('recovered', 20, { attempt: 1 }),
          entry('attempt-unknown', 60_020, { attempt: 1 }),
          entry('settled', 60_020, { state: 'UNCONFIRMED' }),
          entry('receipt-delivered', 90_000),
        ],
      },
      [
        'Sent and delivered 1 min 30 s after the request.',
        'Nuncio stopped during attempt 1. A report from Meta shows that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report about the attempt after one during which Nuncio stopped',
      byReport([
        entry('recovered', 20, { attempt: 1 }),
        entry('attempt-rejected', 30, { attempt: 1, code: 'evidence_not_sent' }),
        entry('attempt-unknown', 100, { attempt: 2 }),
        entry('attempt-accepted', 1_900, { attempt: 2, code: 'evidence_found' }),
      ]),
      [
        'Sent: a report from Meta shows it.',
        'The result of attempt 2 was unknown. A report 1.8 s later shows that Meta has it.',
        NO_ACTION,
      ],
    ],
    [
      'of an adapter that does not know, and a report that came',
      {
        ...byReport([
          entry('attempt-unknown', 20, { attempt: 1, words: 'The adapter does not know what became of it: no answer' }),
          entry('attempt-accepted', 1_820, { attempt: 1, code: 'evidence_found' }),
        ]),
        channel: 'bridge',
      },
      [
        'Sent: a report from the adapter shows it.',
        'The adapter did not say what became of attempt 1. A report 1.8 s later shows that it has it.',
        NO_ACTION,
      ],
    ],
    [
      'of a report that came while the answer was still awaited, and nothing of how long after the call it was found',
      {
        message: { state: 'READ', publishedAt: AT + 30_001, reason: 'evidence_found' },
        channel: META,
        timeline: [
          entry('attempt-unknown', 30_000, { attempt: 1, words: 'no answer' }),
          entry('attempt-accepted', 30_260, { attempt: 1, code: 'evidence_found' }),
          entry('receipt-read', 30_260, { networkTime: AT + 2_000 }),
        ],
      },
      [
        'Sent and read 2 s after the request.',
        'Meta gave no answer to attempt 1. A report shows that it has it.',
        NO_ACTION,
      ],
    ],
  ])('%s', (_, situation, lines) => {
    assert.deepEqual(readMessage(situation), lines)
  })
})
