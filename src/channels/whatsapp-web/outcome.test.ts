import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Failure, Outcome } from '../../core/ports/channel.ts'
import { isReasonCode } from '../../core/reasons.ts'
import type { SessionStatus } from './close-code.ts'
import { failureOfSearch, failureOfStatus, outcomeOfRelay, type RefusalFacts } from './outcome.ts'
import type { RelayEnd } from './thread/messages.ts'

const NOW = Date.UTC(2026, 10, 27)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const FACTS: RefusalFacts = {
  now: NOW,
  lockedUntil: null,
  isLockSaid: false,
  isKnown: false,
  inARow: 1,
  recipientsInARow: 1,
  timesTooFast: 1,
  timesOfForm: 1,
}

describe('what keeps a session from being ready', () => {
  it.each<{ status: SessionStatus; code: string; retryAfterMs: number }>([
    { status: { name: 'connecting' }, code: 'connection_away', retryAfterMs: 1_000 },
    { status: { name: 'unlinked' }, code: 'device_unlinked', retryAfterMs: 10 * MINUTE },
    { status: { name: 'banned', until: null }, code: 'number_banned', retryAfterMs: HOUR },
    { status: { name: 'banned', until: NOW + MINUTE }, code: 'number_banned', retryAfterMs: MINUTE },
    { status: { name: 'taken-elsewhere' }, code: 'session_taken', retryAfterMs: 10 * MINUTE },
    { status: { name: 'client-refused', code: 405 }, code: 'client_refused', retryAfterMs: 10 * MINUTE },
    { status: { name: 'not-installed' }, code: 'channel_not_installed', retryAfterMs: 5_000 },
    { status: { name: 'unreadable' }, code: 'session_unreadable', retryAfterMs: 10 * MINUTE },
  ])('makes the whole lane wait: $status.name', ({ status, code, retryAfterMs }) => {
    const failure = failureOfStatus(status, NOW)

    assert.deepEqual([failure.class, failure.code, failure.retryAfterMs], ['connection', code, retryAfterMs])
    assert.ok(isReasonCode(code))
  })
})

describe('the search for a recipient', () => {
  it('fails the message when the number is not registered, and is repeated when it was not answered', () => {
    const [missing, unanswered] = [
      failureOfSearch({ kind: 'not-on-whatsapp' }),
      failureOfSearch({ kind: 'unanswered' }),
    ]

    assert.deepEqual([missing.class, missing.code], ['permanent', 'not_on_whatsapp'])
    assert.deepEqual(
      [unanswered.class, unanswered.code, unanswered.suspectsNetwork],
      ['transient', 'network_error', true],
    )
  })
})

describe('the outcome of a message', () => {
  it('is accepted with an ack alone, under the id of the message', () => {
    assert.deepEqual(outcomeOfRelay({ kind: 'acked', error: null }, 'id', FACTS), { kind: 'accepted', networkId: 'id' })
  })

  it.each<RelayEnd>([
    { kind: 'unanswered', why: 'late' },
    { kind: 'unanswered', why: 'closed' },
    { kind: 'unanswered', why: 'cancelled' },
  ])('G5: is unknown when it may have left and no ack came: $why', (end) => {
    assert.equal(outcomeOfRelay(end, 'id', FACTS).kind, 'unknown')
  })

  it.each<{ end: RelayEnd; code: string }>([
    { end: { kind: 'not-left', why: 'held-back' }, code: 'call_interrupted' },
    { end: { kind: 'not-left', why: 'not-encrypted' }, code: 'network_error' },
  ])('is rejected when nothing was written: $end.why', ({ end, code }) => {
    const failure = failureOf(outcomeOfRelay(end, 'id', FACTS))

    assert.deepEqual([failure.class, failure.code], ['transient', code])
  })

  it.each<{ error: string; facts?: Partial<RefusalFacts>; expected: readonly [string, string, number | null] }>([
    {
      error: '463',
      facts: { lockedUntil: NOW + HOUR },
      expected: ['recipient', 'first_contacts_locked', 1_000],
    },
    {
      error: '463',
      facts: { lockedUntil: NOW + HOUR, isLockSaid: true, isKnown: true, inARow: 2 },
      expected: ['recipient', 'first_contacts_locked', HOUR],
    },
    {
      error: '463',
      facts: { lockedUntil: NOW + 2 * HOUR, isLockSaid: true, isKnown: true, inARow: 3 },
      expected: ['connection', 'number_restricted', HOUR],
    },
    {
      error: '463',
      facts: { lockedUntil: NOW + 24 * HOUR, isKnown: true, inARow: 3 },
      expected: ['recipient', 'first_contacts_locked', 24 * HOUR],
    },
    { error: '479', expected: ['transient', 'stanza_refused', null] },
    { error: '479', facts: { timesOfForm: 2 }, expected: ['permanent', 'stanza_refused', null] },
    { error: '429', expected: ['recipient', 'recipient_rate_limited', MINUTE] },
    {
      error: '429',
      facts: { inARow: 5, recipientsInARow: 2, timesTooFast: 3 },
      expected: ['recipient', 'recipient_rate_limited', 4 * MINUTE],
    },
    { error: '429', facts: { timesTooFast: 50 }, expected: ['recipient', 'recipient_rate_limited', HOUR] },
    {
      error: '429',
      facts: { inARow: 3, recipientsInARow: 3, timesTooFast: 1 },
      expected: ['connection', 'rate_limited', MINUTE],
    },
    { error: '429', facts: { inARow: 5, recipientsInARow: 3 }, expected: ['connection', 'rate_limited', 4 * MINUTE] },
    { error: '429', facts: { inARow: 50, recipientsInARow: 10 }, expected: ['connection', 'rate_limited', HOUR] },
    { error: '503', expected: ['transient', 'busy', null] },
    { error: '400', expected: ['transient', 'network_refused', null] },
  ])('is rejected with the error $error of WhatsApp: $expected', ({ error, facts, expected }) => {
    const failure = failureOf(outcomeOfRelay({ kind: 'acked', error }, 'id', { ...FACTS, ...facts }))

    assert.deepEqual([failure.class, failure.code, failure.retryAfterMs], expected)
    assert.equal(failure.suspectsNetwork, failure.code === 'busy')
    assert.ok(isReasonCode(failure.code))
    assert.equal(failure.words, `WhatsApp rejected it with error ${error}`)
  })
})

function failureOf(outcome: Outcome): Failure {
  assert.equal(outcome.kind, 'rejected')
  return outcome.failure
}
