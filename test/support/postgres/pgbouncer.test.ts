import assert from 'node:assert/strict'
import type pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { skipNote } from '../black-box/skip-note.ts'
import { PgBouncer, whyNoPgBouncer } from './pgbouncer.ts'
import { withClient } from './postgres-server.ts'
import { openTestDatabase, type TestDatabase } from './test-database.ts'

const obstacle = whyNoPgBouncer()

describe.skipIf(obstacle !== null)(`a PgBouncer for tests${skipNote(obstacle)}`, () => {
  let database: TestDatabase
  let pool: PgBouncer

  beforeAll(async () => {
    database = await openTestDatabase()
    pool = await PgBouncer.open({ serverUrl: database.url, settings: { default_pool_size: 1 } })
  })

  afterAll(async () => {
    await pool.stop()
    await database.drop()
  })

  it('connects to the databases of the server, with its passwords', async () => {
    const wrong = new URL(pool.url(database.name))
    wrong.password = 'wrong'

    const rows = await withClient(pool.url(database.name), async (client) => {
      return (await client.query('select current_database() as name')).rows
    })

    assert.deepEqual(rows, [{ name: database.name }])
    await assert.rejects(withClient(wrong.href, (client) => client.query('select 1')))
  })

  it('gives each transaction some connection, so that session state is lost', async () => {
    const who = `select pg_backend_pid() as pid, current_setting('work_mem') as work_mem`
    await withBoth(pool.url(database.name), async (anna, ben) => {
      await anna.query(`set work_mem = '3MB'`)

      const [a, b] = [(await anna.query(who)).rows[0], (await ben.query(who)).rows[0]]

      assert.deepEqual(b, a)
      assert.equal(b.work_mem, '3MB')
    })
  })

  it('accepts unnamed statements, and refuses named prepared statements', async () => {
    await withBoth(pool.url(database.name), async (anna, ben) => {
      const unnamed = await anna.query('select $1::int + 1 as n', [41])
      await anna.query({ name: 'adds', text: 'select $1::int + 1 as n', values: [1] })

      assert.deepEqual(unnamed.rows, [{ n: 42 }])
      await assert.rejects(ben.query({ name: 'adds', text: 'select $1::int + 1 as n', values: [1] }), {
        message: 'prepared statement "adds" already exists',
      })
    })
  })

  it('is gone when it is stopped, and stopping twice is harmless', async () => {
    const other = await PgBouncer.open({ serverUrl: database.url })
    const url = other.url(database.name)

    await other.stop()
    await other.stop()

    await assert.rejects(
      withClient(url, (client) => client.query('select 1')),
      { code: 'ECONNREFUSED' },
    )
  })

  it('fails with the end of its log when it does not start', async () => {
    await assert.rejects(
      PgBouncer.open({ serverUrl: database.url, settings: { pool_mode: 'sometimes' } }),
      /PgBouncer did not start:[\s\S]*pool_mode/,
    )
  })
})

function withBoth(url: string, work: (anna: pg.Client, ben: pg.Client) => Promise<void>): Promise<void> {
  return withClient(url, (anna) => withClient(url, (ben) => work(anna, ben)))
}
