import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Arrival, checkLedger } from './check-ledger.ts'

const LANE = '15550003000'
const OTHER = '15550003001'

function acked(lane: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({ lane, number: index + 1, messageId: `${lane}-${index + 1}` }))
}

function arrived(lane: string, ...numbers: readonly number[]): Arrival[] {
  return numbers.map((number) => ({ lane, number }))
}

function check(arrivals: readonly Arrival[], unconfirmed: readonly string[] = []) {
  const acknowledged = [...acked(LANE, 3), ...acked(OTHER, 2)]
  return checkLedger({ acknowledged, arrivals, unconfirmedIds: new Set(unconfirmed) })
}

describe('the ledger of the kill test', () => {
  it('finds nothing where each arrived once and in order, however the lanes mingle', () => {
    const found = check([...arrived(OTHER, 1), ...arrived(LANE, 1, 2), ...arrived(OTHER, 2), ...arrived(LANE, 3)])

    assert.deepEqual(found, {
      acknowledged: 5,
      delivered: 5,
      lost: 0,
      doubled: 0,
      outOfOrder: 0,
      unconfirmed: 0,
      unasked: 0,
      examples: [],
    })
  })

  it('finds what was answered with 200 and arrived nowhere', () => {
    const { lost, examples } = check([...arrived(LANE, 1, 3), ...arrived(OTHER, 1, 2)])

    assert.equal(lost, 1)
    assert.deepEqual(examples, [`lost ${LANE}/2 (${LANE}-2)`])
  })

  it('calls a message unconfirmed, and not lost, when the service itself does not know its result', () => {
    const { lost, unconfirmed } = check([...arrived(LANE, 1, 3), ...arrived(OTHER, 1, 2)], [`${LANE}-2`])

    assert.deepEqual([lost, unconfirmed], [0, 1])
  })

  it('finds what arrived twice', () => {
    const { doubled, outOfOrder, delivered } = check([...arrived(LANE, 1, 2, 3, 2), ...arrived(OTHER, 1, 2)])

    assert.deepEqual([doubled, outOfOrder, delivered], [1, 0, 5])
  })

  it('finds what overtook another of its lane', () => {
    const { outOfOrder, examples } = check([...arrived(LANE, 2, 1, 3), ...arrived(OTHER, 1, 2)])

    assert.equal(outOfOrder, 1)
    assert.deepEqual(examples, [`out of order ${LANE}/1`])
  })

  it('finds messages that were never asked for', () => {
    assert.equal(check([...arrived(LANE, 1, 2, 3, 4), ...arrived(OTHER, 1, 2)]).unasked, 1)
  })
})
