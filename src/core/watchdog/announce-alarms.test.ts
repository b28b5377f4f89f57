import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../ids.ts'
import type { NewNotification } from '../ports/notifications.ts'
import type { UnannouncedAlarm } from '../ports/watch.ts'
import { announceAlarms } from './announce-alarms.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const ACME = 'acc_acme' as AccountId
const DAY_MS = 86_400_000

const STALLED: UnannouncedAlarm = {
  id: 7,
  kind: 'lane_stalled',
  accountId: ACME,
  object: 'con_1',
  severity: 'critical',
  since: NOW - 60_000,
  facts: { number: '15550001000', waiting: 3, why: 'not_claimed', words: 'Dear Anna' },
  raisedAt: NOW,
  changedAt: NOW,
  clearedAt: null,
}
const TOKEN: UnannouncedAlarm = {
  ...STALLED,
  kind: 'token_expiring',
  object: 'tok_1',
  severity: 'warning',
  facts: { name: 'Shop', prefix: 'AbCdEfGh', expiresAt: NOW + 6 * DAY_MS, lastUsedAt: NOW },
}

/** What is announced of these, and which of them are marked as announced. */
async function announce(unannounced: readonly UnannouncedAlarm[], only: AccountId | null = ACME, fails = false) {
  const announced: NewNotification[] = []
  const marked: number[] = []
  const watch = {
    readUnannouncedAlarms: async () => unannounced,
    readOnlyAccount: async () => only,
    markAnnounced: async (alarms: readonly UnannouncedAlarm[]) => void marked.push(...alarms.map(({ id }) => id)),
  }
  const notifications = {
    async announce(news: readonly NewNotification[]) {
      if (fails) throw new Error('away')
      announced.push(...news)
    },
  }
  await announceAlarms({ watch, notifications }, NOW).catch((error: unknown) => assert.ok(fails, String(error)))
  return { announced, marked }
}

describe('announcing alarms', () => {
  it('names the problem, its cause and the next step, and nothing that a network said', async () => {
    const { announced, marked } = await announce([STALLED])

    assert.deepEqual(
      announced.map(({ kind, accountId, key }) => [kind, accountId, key]),
      [['alarm.raised', ACME, 'alarm:7:critical:']],
    )
    assert.deepEqual(announced[0]?.data, {
      alarm: 'lane_stalled',
      severity: 'critical',
      object: '15550001000',
      since: '2026-01-15T11:59:00.000Z',
      cause: '3 messages wait on 15550001000, but nothing has moved for 1 min: no process takes them.',
      nextStep: 'Check its processes and start one that sends. → nuncio workers',
    })
    assert.deepEqual(marked, [7])
  })

  it('announces its end', async () => {
    const { announced } = await announce([{ ...STALLED, clearedAt: NOW }])

    assert.deepEqual(
      announced.map(({ kind, key, data }) => [kind, key, data['clearedAt']]),
      [['alarm.cleared', 'alarm:7:cleared', '2026-01-15T12:00:00.000Z']],
    )
  })

  it('leaves the end of tokens to the notices of tokens', async () => {
    const { announced, marked } = await announce([TOKEN, { ...TOKEN, clearedAt: NOW }])

    assert.deepEqual([announced, marked], [[], [7, 7]])
  })

  it('G8: announces an alarm about the machine only where there is one account, and marks it all the same', async () => {
    const disk = { ...STALLED, kind: 'disk_filling', accountId: null, facts: { folder: '/data' } } as const

    const [alone, together] = [await announce([disk]), await announce([disk], null)]

    assert.deepEqual([alone.announced.length, together.announced.length], [1, 0])
    assert.deepEqual([alone.marked, together.marked], [[7], [7]])
  })

  it('leaves unannounced what could not be announced', async () => {
    assert.deepEqual((await announce([STALLED], ACME, true)).marked, [])
  })
})
