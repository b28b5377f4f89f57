import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ConnectionId, WorkerId } from '../../../src/core/ids.ts'
import { LaneHistory } from './lane-watch.ts'
import { assertNoStandstill, findStandstills, type Seen } from './standstills.ts'

const CONNECTION = '447911100000'
const HOLDER = 'worker-1' as WorkerId
const TO = '447900000000'
const HOLDER_LOST_AT = 2_000

describe('the time for which a lane stood still', () => {
  it('is counted from the acceptance of the waiting message if no worker was lost', () => {
    const [longest] = findStandstills({ ...run({ startedAt: 9_000 }), losses: [] })

    assert.equal(longest?.ms, 8_000)
  })

  it('is counted from the loss of its holder', () => {
    const [longest] = findStandstills(run({ startedAt: 9_000 }))

    assert.equal(longest?.ms, 7_000)
  })

  it('is counted from when the media was fetched, because no holder can speed that up', () => {
    const [longest] = findStandstills(run({ startedAt: 9_000, mediaEndedAt: 8_500 }))

    assert.equal(longest?.ms, 500)
  })

  it('is described with the result of the message', () => {
    assert.throws(() => assertNoStandstill(1_000, run({ startedAt: 9_000 })), {
      message: new RegExp(`7000 ms[^]*lost ${HOLDER}[^]*began: attempt 1 of the message to ${TO}, PUBLISHED`),
    })
  })
})

/** One message, accepted at 1,000, in a lane whose holder is lost soon after. */
function run({ startedAt, mediaEndedAt = null }: { startedAt: number; mediaEndedAt?: number | null }): Seen {
  const message = {
    id: 'm1',
    connection: CONNECTION,
    to: TO,
    state: 'PUBLISHED',
    reason: null,
    text: null,
    acceptedAt: 1_000,
  }
  const times = { startedAt, endedAt: startedAt + 30, mediaEndedAt }
  const attempt = { messageId: 'm1', connection: CONNECTION, number: 1, outcome: 'accepted', ...times }
  const claim = { at: 0, connection: CONNECTION, connectionId: 'connection-1' as ConnectionId, owner: HOLDER }
  return {
    input: { requests: [], messages: [message], inbox: [], attempts: [attempt] },
    history: new LaneHistory([claim], [{ id: HOLDER, pid: 1, since: 0 }]),
    losses: [{ at: HOLDER_LOST_AT, worker: HOLDER }],
  }
}
