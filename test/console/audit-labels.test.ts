import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { actorChoices, auditFact, auditFacts, pageOfObject } from '../../console/features/settings/audit-labels.ts'

describe('the audit log', () => {
  it('offers the account’s people, the command line, and a chosen person who has left', () => {
    const offered = (chosen?: string) => actorChoices(['anna@example.org'], chosen).map(({ value }) => value)

    assert.deepEqual(offered(), ['', 'anna@example.org', 'cli'])
    assert.deepEqual(offered('anna@example.org'), offered())
    assert.deepEqual(offered('ben@example.org'), ['', 'anna@example.org', 'ben@example.org', 'cli'])
  })

  it('describes the settings of a lane in words', () => {
    const quietHours = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }

    assert.equal(
      auditFact('policy', { onUnconfirmed: 'leave', leastGapMs: 40_000, quietHours: null }),
      'policy: on unconfirmed leave, least gap 40 s, quiet hours none',
    )
    assert.equal(
      auditFact('policy', { quietHours }),
      'policy: quiet hours from 22:00, to 07:00, time zone Europe/Berlin',
    )
  })

  it('names the notices of a webhook as its page does', () => {
    assert.equal(auditFact('kinds', ['message.failed', 'alarm.raised']), 'notices: message.failed, alarm.raised')
  })

  it('names connections by their numbers, and repeats nothing', () => {
    const numbers = new Map([['con_1', '15550001000']])
    const factsOf = (detail: Record<string, unknown>) => auditFacts(detail, { objectName: 'shop', numbers })

    assert.deepEqual(factsOf({ name: 'shop', connections: ['con_1', 'con_2'], sourceRanges: null }), [
      'connections: 15550001000, con_2',
    ])
    assert.deepEqual(factsOf({ blocked: 1 }), [])
    assert.deepEqual(factsOf({ blocked: 3 }), ['blocked: 3'])
  })

  it('links objects that have a page', () => {
    assert.equal(pageOfObject('con_1sfj5n8llrib'), '/a/$account/connections/$id')
    assert.equal(pageOfObject('019a2b3c-0000-7000-8000-000000000000'), '/a/$account/developer/logs/$id')
    assert.equal(pageOfObject('recipient …40'), null)
  })
})
