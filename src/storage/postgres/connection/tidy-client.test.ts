import assert from 'node:assert/strict'
import type { PoolClient } from 'pg'
import { describe, it } from 'vitest'
import { openTestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { openPool } from './kysely-dialect.ts'

describe('a connection of a pool', () => {
  it('G1: fails who asked for it, and ends no process, when it breaks while its server is checked', async () => {
    const database = await openTestDatabase()
    const pool = openPool(database.url, { user: 'administration', file: null })
    let listeners = 0
    // Reported just before the check. An unhandled error would end the process.
    pool.once('acquire', (client: PoolClient) => {
      setImmediate(() => {
        listeners = client.listenerCount('error')
        socketOf(client).destroy(new Error('read ECONNRESET'))
      })
    })

    const asked = pool.connect()

    await assert.rejects(asked)
    const next = await pool.connect()
    assert.equal((await next.query('select 1 as one')).rows[0]?.one, 1)
    next.release()
    assert.ok(listeners > 0, 'no listener would have received it')
    await pool.end()
    await database.drop()
  })
})

function socketOf(client: PoolClient): { destroy(error: Error): void } {
  return (client as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection.stream
}
