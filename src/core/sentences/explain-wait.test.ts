import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../connection/lane-policy.ts'
import { explainSession } from './explain-session.ts'
import { explainWait } from './explain-wait.ts'

const NUMBER = '15550001301'
const NOON = Date.parse('2026-11-26T12:00:00Z')
const HOUR = 3_600_000
const wait = { words: null, until: NOON + HOUR }

describe('the sentence of a lane that waits', () => {
  it.each([
    ['awaiting_evidence', 'Its result is unknown. Nuncio waits for a report from Meta until 13:00 UTC.'],
    ['rate_limited', `Meta asked ${NUMBER} to slow down until 13:00 UTC.`],
    ['quiet_hours', `${NUMBER} sends nothing until 13:00 UTC (08:00 in America/New_York).`],
  ])('says until when: %s', (reason, cause) => {
    const quietHours = { from: '22:00', to: '08:00', timeZone: 'America/New_York' }
    const of = { number: NUMBER, channel: 'whatsapp-cloud', policy: { ...DEFAULT_LANE_POLICY, quietHours } }

    assert.equal(explainWait(of, { ...wait, reason }, NOON).cause, cause)
  })

  it('is the same as that of its session', () => {
    const session = { status: 'banned', code: null, refusedUntil: wait.until } as const
    const { cause } = explainWait({ number: NUMBER }, { ...wait, reason: 'number_banned' }, NOON)

    assert.equal(cause, `WhatsApp has banned ${NUMBER} until 13:00 UTC.`)
    assert.equal(explainSession(NUMBER, session, NOON).sentence, cause)
  })
})
