import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AlarmView } from '../../../core/ports/console/alarms.ts'
import type { AttentionView } from '../../../core/ports/console/overview.ts'
import { attentionItems } from './attention-handlers.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const WARNING: AlarmView = {
  id: 1,
  kind: 'reports_missing',
  severity: 'warning',
  of: 'connection',
  object: 'con_1',
  name: '15550001000',
  account: 'Acme',
  since: NOON,
  raisedAt: NOON,
  clearedAt: null,
  cause: 'No report came.',
  command: null,
  nextStep: 'Check the callback address.',
}
const NOTHING: AttentionView = { from: NOON - 1, groups: [], seen: new Map() }
const FAILED = { state: 'FAILED', reason: 'recipient_refused', count: 3, latestAt: NOON } as const
const KEY = 'messages FAILED recipient_refused'

function keys(open: readonly AlarmView[], view: Partial<AttentionView> = {}) {
  return attentionItems(open, { ...NOTHING, ...view }).map(({ key, seen }) => `${key}${seen ? ', seen' : ''}`)
}

describe('what needs attention', () => {
  it('is alarms that wait for a person, and messages that were not sent', () => {
    const info: AlarmView = { ...WARNING, severity: 'info', kind: 'token_expiring', object: 'tok_1' }

    assert.deepEqual(keys([WARNING, info], { groups: [FAILED] }), ['alarm reports_missing con_1', KEY])
  })

  it('is hidden once it was seen, until there is something newer', () => {
    const seen = (until: number) => new Map([[KEY, { until, by: 'anna', at: NOON }]])

    assert.deepEqual(keys([WARNING], { groups: [FAILED], seen: seen(NOON) }), [
      'alarm reports_missing con_1',
      `${KEY}, seen`,
    ])
    assert.deepEqual(keys([], { groups: [FAILED], seen: seen(NOON - 1) }), [KEY])
  })

  it('stays while it is critical, or until a person has decided', () => {
    const seen = new Map(
      ['alarm reports_missing con_1', 'alarm unconfirmed con_1'].map((key) => [
        key,
        { until: NOON, by: 'anna', at: NOON },
      ]),
    )
    const open: AlarmView[] = [
      { ...WARNING, severity: 'critical' },
      { ...WARNING, kind: 'unconfirmed' },
    ]

    assert.deepEqual(keys(open, { seen }), ['alarm reports_missing con_1', 'alarm unconfirmed con_1'])
  })
})
