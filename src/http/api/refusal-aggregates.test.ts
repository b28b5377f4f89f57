import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandMovedClock } from '../../../test/support/console-world/hand-moved-clock.ts'
import type { AccountId, TokenId } from '../../core/ids.ts'
import type { RefusedRequest, SummedRefusals } from '../../core/ports/intake.ts'
import { RefusalAggregates } from './refusal-aggregates.ts'

const MINUTE_MS = 60_000
const ANNA = 'anna' as AccountId

/** The result of each write: `null` throws. */
function sumsThat(answers: readonly (boolean | null)[] = []) {
  const clock = new HandMovedClock()
  const begun = clock.now()
  const left = [...answers]
  const asked: SummedRefusals[] = []
  const kept = new Map<string, SummedRefusals>()
  const faults: unknown[] = []
  const damaged = new Set<string>()
  let notLogged = 0
  let ids = 0
  const server = {
    clock,
    log: { error: ({ err }: { err: unknown }) => faults.push(err) },
    observer: {
      refusalNotLogged: (count: number) => {
        notLogged += count
      },
    },
    nextRequestId: () => `sum-${++ids}`,
  }
  const aggregates = new RefusalAggregates(server as never, {
    logSummed: async (sum) => {
      asked.push(sum)
      if (damaged.has(sum.tokenId)) return false
      const answer = left.length > 0 ? left.shift() : true
      if (answer == null) throw new Error('a fault')
      if (answer) kept.set(sum.requestId, sum)
      return answer
    },
  })
  const refuse = (count: number, tokenId = 'token-1', reason: 'rate_exceeded' | 'text_empty' = 'rate_exceeded') => {
    for (let at = 0; at < count; at++) aggregates.add(refused(clock.now(), tokenId as TokenId), reason)
  }
  return {
    ...{ clock, sums: aggregates, refuse, asked, faults, damaged },
    at: (sum: SummedRefusals) => [sum.since - begun, sum.until - begun],
    kept: () => [...kept.values()],
    counts: () => [...kept.values()].map(({ requests }) => requests),
    notLogged: () => notLogged,
  }
}

function refused(receivedAt: number, tokenId: TokenId): RefusedRequest {
  const facts = { requestId: 'r', receivedAt, receivedMonotonic: 0, remoteAddress: '127.0.0.1', userAgent: null }
  return { facts, accountId: ANNA, tokenId, status: 429, code: 'HC-5', errors: '[]', body: 'of one of them' }
}

describe('refused requests that are not logged one by one', () => {
  it('become one row for each token and reason when their minute is over', async () => {
    const { clock, refuse, kept, at, asked } = sumsThat()
    await clock.move(10_000)
    refuse(3)
    refuse(2, 'token-2')
    await clock.move(20_000)
    refuse(4)
    refuse(1, 'token-1', 'text_empty')

    await clock.move(29_999)
    assert.deepEqual(asked, [])
    await clock.move(1)

    assert.deepEqual(
      kept().map((sum) => [sum.tokenId, JSON.parse(sum.errors)[0].code, sum.requests, ...at(sum)]),
      [
        ['token-1', 'rate_exceeded', 7, 10_000, MINUTE_MS - 1],
        ['token-2', 'rate_exceeded', 2, 10_000, MINUTE_MS - 1],
        ['token-1', 'text_empty', 1, 30_000, MINUTE_MS - 1],
      ],
    )
    assert.equal(asked.length, 3)
    assert.equal(clock.waiting, 0)
  })

  it('are counted in the minute in which they were refused, also before the timer runs', async () => {
    const { clock, refuse, counts, kept, at, asked } = sumsThat()
    const after = clock.after.bind(clock)
    // In a busy process a request may come before the timer.
    clock.after = (delayMs, call) => after(delayMs + 1, call)
    refuse(5)
    await clock.move(MINUTE_MS)
    refuse(1)
    await clock.move(MINUTE_MS + 1)

    assert.deepEqual(counts(), [5, 1])
    assert.equal(asked.length, 2)
    assert.deepEqual(kept().map(at), [
      [0, MINUTE_MS - 1],
      [MINUTE_MS, 2 * MINUTE_MS - 1],
    ])
  })

  it('are written again as the same rows when storage did not confirm them', async () => {
    const { clock, refuse, asked, counts, at, kept, faults } = sumsThat([false, null])
    refuse(5)
    await clock.move(MINUTE_MS)
    refuse(2)
    await clock.move(10_000)
    await clock.move(10_000)

    assert.deepEqual(
      asked.map(({ requestId, requests }) => [requestId, requests]),
      [
        ['sum-1', 5],
        ['sum-1', 5],
        ['sum-1', 5],
      ],
    )
    assert.deepEqual(counts(), [5])
    assert.equal(faults.length, 1)
    await clock.move(MINUTE_MS - 20_000)
    assert.deepEqual(counts(), [5, 2])
    assert.deepEqual(kept().map(at), [
      [0, MINUTE_MS - 1],
      [MINUTE_MS, 2 * MINUTE_MS - 1],
    ])
  })

  it('G8: do not delay other rows when one cannot be written', async () => {
    const { clock, refuse, kept, sums: aggregates, damaged } = sumsThat()
    damaged.add('token-1')
    for (let minute = 0; minute < 3; minute++) {
      refuse(5)
      refuse(1, 'token-2')
      await clock.move(MINUTE_MS)
    }
    damaged.clear()
    await aggregates.stop()

    assert.deepEqual(
      kept().map(({ tokenId, requests }) => `${tokenId} ${requests}`),
      ['token-2 1', 'token-2 1', 'token-2 1', 'token-1 5', 'token-1 10'],
    )
  })

  it('G11: take no more memory however long storage is away, and none of them is lost', async () => {
    const { clock, refuse, counts, asked, kept, at } = sumsThat(Array.from({ length: 60 }, () => false))
    for (let minute = 0; minute < 10; minute++) {
      refuse(100)
      for (let tenth = 0; tenth < 6; tenth++) await clock.move(10_000)
    }
    assert.equal(new Set(asked.map(({ requestId }) => requestId)).size, 1)
    for (let tenth = 0; tenth < 18; tenth++) await clock.move(10_000)

    assert.deepEqual(counts(), [100, 900])
    // Their time is that of writing, because rows are stored in the order of their times.
    const [first, late] = kept().map(at)
    assert.deepEqual([first?.[0], late?.[0]], [0, MINUTE_MS])
    assert.ok((first?.[1] ?? 0) >= 9 * MINUTE_MS)
    assert.ok((late?.[1] ?? 0) >= 9 * MINUTE_MS)
  })

  it('are written when the service stops, and counted in the metrics when that fails', async () => {
    const good = sumsThat()
    good.refuse(5)
    await good.sums.stop()
    await good.sums.stop()
    assert.deepEqual([good.counts(), good.notLogged(), good.clock.waiting], [[5], 0, 0])

    const bad = sumsThat([false, false])
    bad.refuse(5)
    await bad.clock.move(MINUTE_MS)
    bad.refuse(3)
    await bad.sums.stop()
    bad.refuse(1)
    assert.deepEqual([bad.counts(), bad.notLogged(), bad.clock.waiting], [[], 9, 0])
  })

  it('do not wait for a clock that was set back', async () => {
    const { clock, refuse, counts, kept } = sumsThat()
    refuse(5)
    await clock.move(-3 * 60 * MINUTE_MS)
    refuse(1)
    await clock.move(MINUTE_MS)

    assert.deepEqual(counts(), [5, 1])
    assert.ok(kept().every(({ since, until }) => since <= until && until <= clock.now()))
  })
})
