import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { timeLabelOf, unseen } from '../../console/features/attention/attention-text.ts'
import { changesText, gapEffect } from '../../console/features/connections/connection-labels.ts'
import { auditFact } from '../../console/features/settings/audit-labels.ts'
import { tokenStatusOf } from '../../console/features/tokens/token-labels.ts'
import {
  deliveryGroup,
  deliveryLabel,
  failingText,
  lastDayLabel,
  lastTryLabel,
  retriesText,
} from '../../console/features/webhooks/webhook-labels.ts'
import type { AlarmReply } from '../../src/contract/console/alarms.ts'
import { ALARM_KIND_NAMES } from '../../src/core/watchdog/alarm-kinds.ts'
import { alarmText } from '../../src/core/watchdog/alarm-text.ts'

const DAY_MS = 86_400_000

describe('the settings of a connection', () => {
  it('explain the effect of a gap', () => {
    assert.equal(gapEffect(40_000, 10_000), 'One every 40 s to 50 s: about 80 an hour.')
    assert.equal(gapEffect(2_000, 0), 'One every 2 s: about 1,800 an hour.')
    assert.deepEqual([gapEffect(0, 0), gapEffect(null, 0)], [null, null])
  })

  it('name unsaved changes', () => {
    assert.equal(changesText(['Least gap']), '1 change: least gap')
    assert.equal(changesText(['Least gap', 'Jitter']), '2 changes: least gap, jitter')
  })
})

describe('an entry of the audit log', () => {
  it('reads as people write', () => {
    assert.equal(auditFact('events', ['messaging.send_message']), 'events: Messaging > Send Message')
    assert.equal(auditFact('isOpen', true), 'is open: yes')
    assert.match(auditFact('expiresAt', Date.UTC(2026, 11, 3, 12)), /^expires: .*2026/)
  })
})

describe('a token', () => {
  it('expires soon in the last fifth of its life, and within seven days at most', () => {
    const lasting = (days: number, leftDays: number) => {
      const expiresAt = Date.now() + leftDays * DAY_MS
      return tokenStatusOf({ createdAt: expiresAt - days * DAY_MS, deletedAt: null, expiresAt })
    }
    assert.deepEqual(
      [lasting(7, 6.9), lasting(7, 1.3), lasting(7, 0.5), lasting(90, 8), lasting(90, 6)],
      ['active', 'ends-soon', 'ends-today', 'active', 'ends-soon'],
    )
  })
})

describe('a webhook', () => {
  const retrying = { count: 1, isAtLeast: false, nextTryAt: 0, givenUpAt: 86_400_000 }
  const again = 'tried again'
  it.each([
    [{}, `1 delivery is ${again}, the next time on 1 Jan`, 'it is given up about 2 Jan 1970'],
    [{ nextTryAt: null }, `1 delivery is ${again}. If`, 'it is given up about'],
    [{ isAtLeast: true }, `At least 1 delivery is ${again}, the next`, 'or later: they are tried one at a time.'],
    [{ count: 2 }, `2 deliveries are ${again}, the next of them on 1 Jan`, 'the last of them is given up about'],
    [
      { count: 2_000, isAtLeast: true, nextTryAt: null },
      `At least 2,000 deliveries are ${again}. If`,
      'the last of them',
    ],
  ])('with %j says “%s … %s”', (changed, start, end) => {
    const text = retriesText({ retrying: { ...retrying, ...changed } }) ?? ''

    assert.ok(text.startsWith(start) && text.includes(end), text)
  })

  it('says of a waiting delivery whether it has failed', () => {
    const labels = [0, 1, 3].map((tries) => deliveryLabel({ state: 'waiting', tries }))

    assert.deepEqual(labels, ['Waiting', 'Failed once, tried again', 'Failed 3 times, tried again'])
    assert.equal(deliveryLabel({ state: 'delivered', tries: 2 }), 'Delivered')
    assert.deepEqual(
      [0, 1].map((tries) => deliveryGroup({ state: 'waiting', tries })),
      ['moving', 'attend'],
    )
  })

  it('says that a new delivery is being sent, but not if it waits behind others', () => {
    const none = { tries: 0, lastStatus: null, lastCode: null }
    const labels = [true, false].map((isBeingSent) => lastTryLabel({ ...none, isBeingSent }))

    assert.deepEqual(labels, ['Sending…', 'Not tried yet'])
  })

  it.each([
    [{}, 'Nothing in 24 hours'],
    [{ delivered: 1_200, waiting: 6 }, '1,200 delivered, 6 not delivered yet'],
    [{ waiting: 6 }, '0 delivered, 6 not delivered yet'],
    [{ delivered: 1, failed: 2, dropped: 1 }, '1 delivered, 3 given up'],
    [{ delivered: 2_000, isAtLeast: true }, '2,000 delivered (of the newest 2,000)'],
  ])('with %j says of the last day “%s”', (counts, label) => {
    const none = { waiting: 0, delivered: 0, failed: 0, dropped: 0, isAtLeast: false }

    assert.equal(lastDayLabel({ lastDay: { ...none, ...counts } }), label)
  })

  it('says since when every try fails, counted from the last delivery', () => {
    assert.match(
      failingText({ lastDeliveredAt: 0 }),
      /^The last delivery was on 1 Jan 1970, .+\. Every try since then failed\.$/,
    )
    assert.equal(failingText({ lastDeliveredAt: null }), 'Nothing was ever delivered.')
  })

  it('says nothing if nothing is retried', () => {
    assert.equal(retriesText({ retrying: null }), null)
  })
})

describe('what needs attention', () => {
  it('consists of what was not seen', () => {
    const about = { title: '', nextStep: '', alarm: null, messages: null, connection: null, webhook: null }
    const item = { key: 'a', ...about, latestAt: 1, maySee: true, seen: null }
    assert.deepEqual(unseen([item, { ...item, key: 'b', seen: { by: 'anna', at: 2 } }]), [item])
  })

  it.each(ALARM_KIND_NAMES)('says once since when it lasts: %s', (kind) => {
    const now = Date.UTC(2026, 0, 15, 12)
    const ago = now - 60_000
    const facts = { number: '15550001000', reason: 'pace', oldestAt: ago, at: ago, lastUsedAt: ago, lastCallAt: ago }

    for (const more of [{}, { lastAt: ago }, { waiting: 3 }, { lastAt: ago, waiting: 3 }]) {
      const { cause } = alarmText({ kind, since: ago, facts: { ...facts, ...more } }, now)

      // Only for this kind the age of the oldest message is that time. Other kinds mention it for what waits meanwhile.
      const said = kind === 'oldest_waiting' ? cause : cause.replace(/, the oldest for \d+ \w+/, '')
      const label = /\bago\b|\bsince\b|\b(?:for|waited) \d/.test(said) ? null : 'Since'
      assert.equal(timeLabelOf({ alarm: { kind } as AlarmReply, messages: null }), label, cause)
    }
  })
})
