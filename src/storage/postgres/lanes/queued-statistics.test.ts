import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'

const ROWS = 12_000
// 300 for each value that is kept of the column of which most are kept.
const MOST_SAMPLED = 6_000

describe('the statistics of what waits', () => {
  it('come from few rows and leave out columns that no query searches, because accepting waits while the server analyses', async () => {
    const world = await newPostgresWorld()
    const session = await world.session()
    const notices: string[] = []
    session.on('notice', ({ message }) => notices.push(message ?? ''))
    await session.query('alter table queued set (autovacuum_enabled = off)')
    await session.query(
      `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
         select i, 'm' || i, 'acc_a', 'con_' || i % 10, 'body ' || i, i, '1', 'message', i from generate_series(1, ${ROWS}) i`,
    )

    await session.query('analyze verbose queued')

    const [, sampled] = /(\d+) rows in sample/.exec(notices.join('\n')) ?? []
    const { rows } = await session.query(
      `select attname as name from pg_stats where schemaname = current_schema() and tablename = 'queued' and attname in ('connection_id', 'body')`,
    )
    assert.equal(Number(sampled), MOST_SAMPLED, notices.join('\n'))
    assert.deepEqual(rows, [{ name: 'connection_id' }])
    await world.close()
  })
})
