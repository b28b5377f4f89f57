import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import type { ClaimedLane } from '../../../core/ports/lanes.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { LaneCache } from './lane-cache.ts'

const ID = 'con_1' as ConnectionId

describe('what is known of lanes', () => {
  it('is forgotten when they are given back, so that it does not grow', () => {
    const known = newKnown()
    for (let i = 0; i < 1_000; i++) {
      known.note(lane(`con_${i}`, 1))
      known.forget({ connectionId: `con_${i}` as ConnectionId, epoch: 1 })
    }

    assert.equal(known.size, 0)
  })

  it('stays when a claim is given back that was renewed meanwhile', () => {
    const known = newKnown()
    known.note(lane(ID, 2))

    known.forget({ connectionId: ID, epoch: 1 })

    assert.equal(known.find(ID)?.accountId, 'acc')
  })

  it('is looked up for lanes that are not known, and only for those', async () => {
    const asked: unknown[] = []
    const known = newKnown(async (_, values) => {
      asked.push(values)
      return [{ id: 'con_2', account_id: 'other', policy: '{"leastGapMs":5}' }]
    })
    known.note(lane(ID, 1))

    const found = await known.lookUp([ID, 'con_2' as ConnectionId, 'con_3' as ConnectionId])
    await known.lookUp([ID])

    assert.deepEqual(asked, [[['con_2', 'con_3']]])
    assert.deepEqual([...found.keys()], [ID, 'con_2'])
    assert.deepEqual(found.get('con_2' as ConnectionId), { accountId: 'other' })
  })
})

function newKnown(ask: PgConnection['ask'] = () => assert.fail('must not query')): LaneCache {
  return new LaneCache({ ask } as PgConnection)
}

function lane(id: string, epoch: number): ClaimedLane {
  return { connectionId: id as ConnectionId, accountId: 'acc', policy: DEFAULT_LANE_POLICY, epoch } as ClaimedLane
}
