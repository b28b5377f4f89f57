import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { LogTimeline } from '../ports/console/api-log.ts'
import { wasItSent } from './was-it-sent.ts'

type View = NonNullable<LogTimeline['message']>
type Entry = View['timeline'][number]

const AT = Date.UTC(2026, 0, 15, 12)

describe('the answer to whether a message was sent', () => {
  it.each([
    ['QUEUED', {}, 'Not sent yet.', 'not sent yet'],
    ['QUEUED', { attempts: 2 }, 'Not sent yet, after 2 attempts.', 'not sent yet'],
    ['SENDING', {}, 'Being sent now.', 'being sent'],
    [
      'SENDING',
      { reason: 'service_stopped' },
      'Not known yet: Nuncio stopped while it was being sent.',
      'not known yet',
    ],
    [
      'SENDING',
      { reason: 'process_gone' },
      'Not known yet: the process that sends it shows no sign of life.',
      'not known yet',
    ],
    ['PUBLISHED', { publishedAt: AT + 300, attempts: 1 }, 'Sent: Meta accepted it 300 ms after the request.', 'sent'],
    [
      'SENDING',
      { reason: 'awaiting_evidence' },
      'Not known yet: no clear answer came while it was being sent.',
      'not known yet',
    ],
    [
      'PUBLISHED',
      { publishedAt: AT + 7_100, attempts: 3 },
      'Sent at the third attempt: Meta accepted it 7.1 s after the request.',
      'sent',
    ],
    ['PUBLISHED', { publishedAt: AT - 5, attempts: 1 }, 'Sent: Meta accepted it.', 'sent'],
    ['PUBLISHED', { reason: 'marked_arrived' }, 'A person marked it as arrived.', 'marked as arrived'],
    ['READ', { reason: 'possible_duplicate' }, 'Sent, perhaps twice.', 'perhaps sent twice'],
    ['FAILED', {}, 'Not sent.', 'not sent'],
    ['FAILED', { publishedAt: AT }, 'Sent, but not delivered.', 'not delivered'],
    ['UNCONFIRMED', {}, 'Nobody knows whether it arrived.', 'nobody knows'],
    ['EXPIRED', {}, 'Not sent.', 'not sent'],
    ['CANCELLED', {}, 'Not sent.', 'not sent'],
  ] as const)('is, for %s %j: %s', (state, part, ...[sentence, short]) => {
    assert.deepEqual(wasItSent(viewOf({ state, ...part })), { sentence, short })
  })

  it('never says “not sent” of a waiting message whose last attempt may have left', () => {
    const unknown = entryOf('attempt-unknown', AT + 1)
    const view = viewOf({ state: 'QUEUED', attempts: 1 }, [unknown])
    const proven = viewOf({ state: 'QUEUED', attempts: 1 }, [unknown, entryOf('attempt-rejected', AT + 2)])

    assert.deepEqual(wasItSent(view), {
      sentence: 'It may have been sent already.',
      short: 'perhaps sent',
    })
    assert.equal(wasItSent(proven).sentence, 'Not sent yet, after 1 attempt.')
  })

  it('never says “not sent” of a waiting message of which an attempt before the last may have left', () => {
    const attempt = (kind: string, number: number) => ({ ...entryOf(kind, AT + number), facts: { attempt: number } })
    const past = [attempt('attempt-unknown', 1), attempt('attempt-rejected', 2)]

    assert.equal(wasItSent(viewOf({ state: 'QUEUED', attempts: 2 }, past)).sentence, 'It may have been sent already.')
  })

  it('counts attempts in English', () => {
    const of = (attempts: number) => wasItSent(viewOf({ state: 'PUBLISHED', attempts })).sentence

    assert.deepEqual(
      [9, 11, 12, 13, 21, 22, 23, 24, 111].map((attempts) => / the (\w+) attempt/.exec(of(attempts))?.[1]),
      ['ninth', '11th', '12th', '13th', '21st', '22nd', '23rd', '24th', '111th'],
    )
  })

  it('drops the time of a report that is before the acceptance', () => {
    const early = viewOf({ state: 'READ' }, [entryOf('receipt-read', AT - 1)])
    const later = viewOf({ state: 'DELIVERED' }, [entryOf('receipt-delivered', AT + 1_900)])
    const whole = viewOf({ state: 'READ', publishedAt: AT + 62 }, [entryOf('receipt-read', AT + 3_000)])

    assert.equal(wasItSent(early).sentence, 'Sent and read.')
    assert.equal(wasItSent(later).sentence, 'Sent and delivered 1.9 s after the request.')
    assert.equal(wasItSent(whole).sentence, 'Sent after 62 ms, read after 3 s.')
  })
})

function entryOf(kind: string, at: number): Entry {
  return { at, kind, code: null, words: null, facts: {} }
}

function viewOf(part: Partial<View['message']>, timeline: readonly Entry[] = []): View {
  const message = { reason: null, attempts: 0, acceptedAt: AT, publishedAt: null, ...part } as View['message']
  return {
    message,
    timeline: [entryOf('accepted', AT), ...timeline],
    position: null,
    channel: 'whatsapp-cloud',
  } as unknown as View
}
