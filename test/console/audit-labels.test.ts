import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { actorChoices, pageOfObject } from '../../console/features/settings/audit-labels.ts'

describe('the audit log', () => {
  it('offers its people, the command line, and who was chosen but has left', () => {
    const offered = (chosen?: string) => actorChoices(['anna@example.org'], chosen).map(({ value }) => value)

    assert.deepEqual(offered(), ['', 'anna@example.org', 'cli'])
    assert.deepEqual(offered('anna@example.org'), offered())
    assert.deepEqual(offered('ben@example.org'), ['', 'anna@example.org', 'ben@example.org', 'cli'])
  })

  it('links what has a page', () => {
    assert.equal(pageOfObject('con_1sfj5n8llrib'), '/a/$account/connections/$id')
    assert.equal(pageOfObject('019a2b3c-0000-7000-8000-000000000000'), '/a/$account/developer/logs/$id')
    assert.equal(pageOfObject('recipient …40'), null)
  })
})
