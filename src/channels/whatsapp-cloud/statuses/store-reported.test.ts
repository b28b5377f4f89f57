import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ConnectionId } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'
import { type Report, type ReportedStatus, readStoredReports } from './reported.ts'
import { storeReportedOf } from './store-reported.ts'

const STORING = { taker: null, receivedAt: 5, tries: 0, remindAt: 7 }

async function store(statuses: readonly ReportedStatus[], storing = STORING, given: Partial<Report> = {}) {
  const added: { key: string; value: string; remindAt?: number }[] = []
  const memory: Pick<ChannelState, 'add'> = {
    async add(_, entry) {
      added.push(entry)
      return true
    },
  }
  const reports = { statuses, writers: [{ from: '15550100000', at: 1 }], numbers: [], ...given }
  const of = { connectionId: 'connection' as ConnectionId, others: [], report: reports }
  await storeReportedOf(memory as ChannelState, of, storing)
  return added
}

function statuses(count: number): readonly ReportedStatus[] {
  return Array.from({ length: count }, (_, i) => ({
    kind: 'sent',
    wamid: `wamid.${i}`,
    at: 1,
    opaque: null,
    recipient: null,
    code: null,
    words: 'w'.repeat(100),
  }))
}

describe('what is stored of a callback', () => {
  it('is all of it, in entries that are not large', async () => {
    const given = statuses(1_000)

    const entries = await store(given)

    assert.ok(entries.length > 5)
    for (const { value } of entries) assert.ok(value.length < 20_000)
    assert.deepEqual(
      entries.flatMap(({ value }) => readStoredReports(value)?.statuses ?? []),
      given,
    )
    assert.equal(new Set(entries.map(({ key }) => key)).size, entries.length)
  })

  it('is of each writer, and each fact of a number, only the last', async () => {
    const writers = [3, 9, 5].map((at) => ({ from: '15550100001', at }))
    const numbers = [{ quality: 'FLAGGED', at: 1 } as const, { throughput: 'HIGH', at: 1 } as const]
    const many = Array.from({ length: 3_000 }, (_, i) => ({ quality: 'UNFLAGGED', at: i + 2 }) as const)

    const [entry, ...more] = await store([], STORING, { writers, numbers: [...numbers, ...many] })

    const stored = readStoredReports(entry?.value ?? '')
    assert.deepEqual([stored?.writers, more], [[{ from: '15550100001', at: 9 }], []])
    assert.deepEqual(stored?.numbers, [
      { quality: 'UNFLAGGED', at: 3_001 },
      { throughput: 'HIGH', at: 1 },
    ])
  })

  it('has the same key whenever the same comes, and another when it is tried again', async () => {
    const [one] = await store(statuses(1))
    const [later] = await store(statuses(1), { ...STORING, receivedAt: 99, remindAt: 99 })
    const [again] = await store(statuses(1), { ...STORING, tries: 1 })

    assert.equal(one?.key, later?.key)
    assert.notEqual(one?.key, again?.key)
    assert.equal(one?.remindAt, 7)
  })

  it('is nothing when nothing was reported', async () => {
    const memory = { add: () => Promise.reject(new Error('added')) } as unknown as ChannelState
    const report = { statuses: [], writers: [], numbers: [] }

    await storeReportedOf(memory, { connectionId: 'connection' as ConnectionId, others: [], report: report }, STORING)
  })
})
