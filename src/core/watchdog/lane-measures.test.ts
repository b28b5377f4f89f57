import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../connection/lane-policy.ts'
import type { ConnectionId } from '../ids.ts'
import type { LaneToMeasure, WatchedLane } from '../ports/watch.ts'
import { LaneMeasures } from './lane-measures.ts'

const HOUR_MS = 3_600_000
const HEAD_AT = 1_000
const LANE = {
  connectionId: 'con_1' as ConnectionId,
  state: 'active',
  policy: { ...DEFAULT_LANE_POLICY, timeToLiveMs: 60_000 },
  head: { sequence: 1, acceptedAt: HEAD_AT },
} as WatchedLane

describe('measures of lanes', () => {
  it('are asked for some at once, each no further than it matters', async () => {
    const { asked, throttled, measures } = measuring(() => 5)

    const found = await measures.measure(
      [lane(0), ...Array.from({ length: 44 }, (_, at) => lane(at + 1, 'paused'))],
      1_000,
    )

    assert.equal(found.size, 45)
    assert.deepEqual(
      asked.map(({ length }) => length),
      [20, 20, 5],
    )
    // Each of which took a millisecond for a lane.
    assert.deepEqual(throttled, [20, 20, 5])
    assert.deepEqual(asked[0]?.slice(0, 2), [
      { id: 'con_0', most: 1_000 },
      { id: 'con_1', most: 100_000 },
    ])
  })

  it('are good for the longer the more there is to count, and forgotten with their lane', async () => {
    const { asked, measures } = measuring((id) => (id === 'con_0' ? 2_500 : 5))
    const lanes = [lane(0), lane(1)]
    const idsAsked = () => asked.splice(0).map((wanted) => wanted.map(({ id }) => id))

    await measures.measure(lanes, 1_000)
    const again = await measures.measure(lanes, 16_000)

    assert.deepEqual(idsAsked(), [['con_0', 'con_1'], ['con_1']])
    assert.deepEqual(
      [...again.values()].map(({ waiting }) => waiting),
      [2_500, 5],
    )
    await measures.measure(lanes, 31_000)
    assert.deepEqual(idsAsked(), [['con_0', 'con_1']])
    measures.keepOnly(new Set(['con_1']))
    await measures.measure(lanes, 31_010)
    assert.deepEqual(idsAsked(), [['con_0']])
  })
})

describe('lanes whose expiry is predicted', () => {
  it('are not counted while they are paused and their first message has long to live', async () => {
    const { asked, measures } = measuring(() => 5)
    const paused = { ...lane(1, 'paused'), policy: { ...DEFAULT_LANE_POLICY, timeToLiveMs: 2 * HOUR_MS } }

    const before = await measures.predict([lane(0), paused], HEAD_AT)
    const anHourBeforeItsEnd = await measures.predict([lane(0), paused], HEAD_AT + HOUR_MS)

    assert.deepEqual([[...before.keys()], [...anHourBeforeItsEnd.keys()]], [[], ['con_1']])
    assert.deepEqual(asked, [[{ id: 'con_1', most: 100_000 }]])
  })

  it('are counted as long as a pace is set', async () => {
    const { measures } = measuring(() => 5)
    const paced = { ...lane(1), policy: { ...DEFAULT_LANE_POLICY, leastGapMs: 1_000 } }

    const found = await measures.predict([paced], HEAD_AT)

    assert.deepEqual([...found.keys()], ['con_1'])
  })
})

function lane(number: number, state: WatchedLane['state'] = 'active'): WatchedLane {
  return { ...LANE, connectionId: `con_${number}` as ConnectionId, state }
}

function measuring(waitingIn: (id: ConnectionId) => number) {
  const asked: (readonly LaneToMeasure[])[] = []
  const throttled: number[] = []
  let monotonic = 0
  const measures = new LaneMeasures({
    clock: { monotonic: () => monotonic },
    throttle: async (tookMs) => void throttled.push(tookMs),
    watch: {
      async measureLanes(lanes) {
        asked.push(lanes)
        monotonic += lanes.length
        return new Map(lanes.map(({ id }) => [id, { waiting: waitingIn(id), isMore: false, newestAt: null }]))
      },
    },
  })
  return { asked, throttled, measures }
}
