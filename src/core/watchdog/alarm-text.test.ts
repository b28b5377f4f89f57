import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { commandPrefix } from '../command-line.ts'
import { BROKEN_PROMISES } from '../reasons/bridge.ts'
import { REASONS } from '../reasons.ts'
import type { AlarmFacts } from './alarm.ts'
import { ALARM_KIND_NAMES, type AlarmKind } from './alarm-kinds.ts'
import { alarmText } from './alarm-text.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const AGO = NOW - 600_000
const NUMBER = '15550001000'

// Every fact that some alarm names.
const FACTS: AlarmFacts = {
  ...{
    number: NUMBER,
    name: 'Shop',
    channel: 'whatsapp-cloud',
    host: 'alpha',
    pid: 12,
    folder: '/data',
    messageId: 'm1',
  },
  what: 'the types of messages were text, now text, image',
  ...{ reason: 'pace', waiting: 3, count: 3, limit: 100, refused: '2', cause: 'The disk is full.', lastedMs: 40_000 },
  ...{ freeBytes: 1e9, totalBytes: 1e11, timeToLiveMs: 3_600_000, at: AGO, until: AGO, lastAt: AGO, oldestAt: AGO },
  ...{ lastAttemptAt: AGO, expiresAt: AGO, lastCallAt: AGO, lastUsedAt: AGO, lastReportAt: AGO },
}

const STALLS = ['call_open', 'evidence_over', 'process_gone', 'holder_silent', 'not_claimed']

/** What makes an alarm of that kind say something else. */
function variantsOf(kind: AlarmKind): readonly AlarmFacts[] {
  switch (kind) {
    case 'connection_offline':
    case 'oldest_waiting':
      return Object.keys(REASONS).map((reason) => ({ reason }))
    case 'device_unlinked':
    case 'session_taken':
    case 'client_refused':
      return [{ reason: kind }]
    case 'number_restricted':
      return [{ reason: 'number_banned' }, { reason: 'first_contacts_locked' }]
    case 'lane_stalled':
      return STALLS.map((why) => ({ why }))
    case 'reports_missing':
      return [{}, { channel: 'bridge' }, { channel: 'bridge', lastReportAt: null }]
    case 'promise_broken':
      return Object.keys(BROKEN_PROMISES).map((stage) => ({ stage }))
    case 'messages_will_expire':
      return [{ state: 'active' }, { state: 'paused' }]
    default:
      return [{}]
  }
}

describe('the text of an alarm', () => {
  it('G12: says to release all numbers, but not where the data were copied to another database', () => {
    const stepFor = (reason: string) => {
      const { nextStep, command } = alarmText({ kind: 'lanes_held', since: AGO, facts: { reason } }, NOW)
      return { nextStep, command }
    }

    assert.match(stepFor('restored the backup of Monday').nextStep, / Then release all numbers\.$/)
    assert.deepEqual(stepFor('the data were copied to PostgreSQL at localhost:5432/nuncio'), {
      nextStep: 'Ask the person who runs Nuncio which of the two sends now.',
      command: `${commandPrefix()} hold`,
    })
  })

  it.each(ALARM_KIND_NAMES)('%s: says what to do without a command, and in words that need no glossary', (kind) => {
    for (const variant of variantsOf(kind)) {
      const facts = { ...FACTS, ...variant }
      const { cause, nextStep, command } = alarmText({ kind, since: AGO, facts }, NOW)
      const said = `${cause} ${nextStep}`

      assert.ok(nextStep.length > 10)
      assert.ok(!said.includes(`${commandPrefix()} `), `a command: ${said}`)
      assert.doesNotMatch(nextStep, /--\w|in the console/)
      assert.doesNotMatch(said, /\b(?:lanes?|workers?|undefined|NaN|NUMBER|RECIPIENT)\b/)
      if (command !== null) assert.match(command, new RegExp(`^${commandPrefix()} [a-z]+`))
      assert.doesNotMatch(command ?? '', /NUMBER/)
    }
  })

  it('says of missing reports what to check, by the channel', () => {
    const step = (channel: string) =>
      alarmText({ kind: 'reports_missing', since: AGO, facts: { ...FACTS, channel } }, NOW)

    assert.match(step('whatsapp-cloud').nextStep, /^Check the callback address that the network knows/)
    assert.match(step('bridge').nextStep, /^Check that the adapter reaches NUNCIO_PUBLIC_URL/)
    assert.match(step('bridge').cause, /^The adapter has reported nothing for 3 messages/)
  })

  it.each([
    [1, 'Nobody knows whether 1 message arrived. It has waited 10 min for a decision.'],
    [3, 'Nobody knows whether 3 messages arrived. The oldest has waited 10 min for a decision.'],
  ])('says how long %i unconfirmed have waited', (count, cause) => {
    assert.equal(alarmText({ kind: 'unconfirmed', since: AGO, facts: { ...FACTS, count } }, NOW).cause, cause)
  })

  it('says until when WhatsApp restricts a number, also when that is days ahead', () => {
    const facts = { ...FACTS, reason: 'first_contacts_locked', until: NOW + 3 * 86_400_000 }

    assert.equal(
      alarmText({ kind: 'number_restricted', since: AGO, facts }, NOW).cause,
      'WhatsApp does not let 15550001000 write to people who never wrote to it, until 2026-01-18 12:00 UTC. 3 messages wait on 15550001000, the oldest for 10 min.',
    )
  })

  it('says of a message to a new recipient how many were used and when more is allowed', () => {
    const words = '30 of 30 new recipients were written to within 24 hours, so none is left.'
    const facts = { ...FACTS, reason: 'new_recipients', words, until: NOW + 3_600_000 }

    assert.equal(
      alarmText({ kind: 'oldest_waiting', since: AGO, facts }, NOW).cause,
      `3 messages wait on 15550001000, the oldest for 10 min. ${words} More is allowed from 13:00 UTC on.`,
    )
  })

  it('says first what the cause of a wait asks for, then to check the connection', () => {
    const facts = { ...FACTS, reason: 'whatsapp_190' }

    assert.deepEqual(alarmText({ kind: 'connection_offline', since: AGO, facts }, NOW), {
      cause:
        '15550001000 has sent nothing for 10 min. The access token has expired or is not valid. 3 messages wait on 15550001000, the oldest for 10 min.',
      nextStep: 'Enter a valid token of the system user; sending goes on by itself. Then check the connection.',
      command: `${commandPrefix()} connection check ${NUMBER}`,
    })
  })

  it.each([
    ['holder_silent', /restart that process/],
    ['process_gone', /check its processes and start one/],
    ['not_claimed', /check its processes and start one/],
  ])('asks to restart a process only where one is there: %s', (why, step) => {
    assert.match(alarmText({ kind: 'lane_stalled', since: AGO, facts: { ...FACTS, why } }, NOW).nextStep, step)
  })
})
