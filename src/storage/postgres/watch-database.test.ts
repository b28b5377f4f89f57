import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import type { Link } from './link.ts'
import { COUNTED_UP_TO } from './waiting-count.ts'
import { PostgresWatchDatabase } from './watch-database.ts'

const LIMIT = 100_000

describe('what is full, on PostgreSQL', () => {
  it('is counted once more waits than is counted exactly, however little the server estimates', async () => {
    const full = await watchOf({ waiting: COUNTED_UP_TO }).countFull({ perConnection: LIMIT, perAccount: LIMIT })

    assert.deepEqual(full, {
      connections: new Map([['con', LIMIT]]),
      accounts: new Map([['acc', LIMIT]]),
    })
  })

  it('is not counted while nothing can be full', async () => {
    const few = await watchOf({ waiting: COUNTED_UP_TO - 1 }).countFull({ perConnection: LIMIT, perAccount: LIMIT })
    const limitless = { perConnection: Number.POSITIVE_INFINITY, perAccount: Number.POSITIVE_INFINITY }
    const many = await watchOf({ waiting: LIMIT }).countFull(limitless)

    assert.deepEqual([few.connections.size, many.connections.size], [0, 0])
  })
})

/** Of a database in which one connection has as many waiting as it may. */
function watchOf({ waiting }: { waiting: number }): PostgresWatchDatabase {
  const row = { account_id: 'acc' as AccountId, connection_id: 'con' as ConnectionId, count: LIMIT }
  const counts = { ask: () => Promise.resolve([row]) } as unknown as Link
  return new PostgresWatchDatabase({ link: counts, counts, waiting: () => waiting })
}
