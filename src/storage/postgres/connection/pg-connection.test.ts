import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../../../../test/support/black-box/skip-note.ts'
import { PgBouncer, whyNoPgBouncer } from '../../../../test/support/postgres/pgbouncer.ts'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { PgConnection, type Query } from './pg-connection.ts'

const WRITE = 'insert into written (n) values ($1) returning n'
// More than the pause between two tries to connect.
const MADE_ANEW_AFTER_MS = 100
const noPooler = whyNoPgBouncer()

let database: TestDatabase
let pgConnections: PgConnection[]

beforeEach(async () => {
  database = await openTestDatabase()
  pgConnections = []
  await query('create table written (n integer)')
})

afterEach(async () => {
  await Promise.all(pgConnections.map((pgConnection) => pgConnection.close()))
  await database.drop()
})

describe('a statement that is prepared', () => {
  it('is parsed once for each session', async () => {
    const pgConnection = open()

    for (const n of [1, 2, 3]) assert.equal(await insert(pgConnection, n), n)
    const known = await pgConnection.query('select statement from pg_prepared_statements')

    assert.deepEqual(known, [{ statement: WRITE }])
  })

  it('is executed once when the session has forgotten it', async () => {
    const pgConnection = open()
    await insert(pgConnection, 1)
    await pgConnection.query('deallocate all')

    const answers = [await insert(pgConnection, 2), await insert(pgConnection, 3)]

    assert.deepEqual(answers, [2, 3])
    assert.deepEqual(await written(), [1, 2, 3])
  })

  it('is asked anew when what it calls returns something else since', async () => {
    const pgConnection = open()
    await query('create function pair() returns table (a integer) language sql as $$ select 1 $$')
    await pgConnection.query('select * from pair()', [], 'prepared')
    await query(
      `drop function pair; create function pair() returns table (a integer, b integer) language sql as $$ select 1, 2 $$`,
    )

    const answer = await pgConnection.query('select * from pair()', [], 'prepared')

    assert.deepEqual(answer, [{ a: 1, b: 2 }])
  })

  it.skipIf(noPooler !== null)(
    `is executed once over a pooler that leads to any session, or to one that other clients have used${skipNote(noPooler)}`,
    async () => {
      const pooler = await PgBouncer.open({ serverUrl: database.url, settings: { default_pool_size: 2 } })
      const name = new URL(database.url).pathname.slice(1)
      const asked = Array.from({ length: 60 }, (_, n) => n)
      try {
        const three = [1, 2, 3].map(() => open(pooler.url(name)))

        const answers = await Promise.all(asked.map((n) => insert(three[n % 3]!, n)))

        assert.deepEqual(answers, asked)
        assert.deepEqual(await written(), asked)
      } finally {
        await Promise.all(pgConnections.map((pgConnection) => pgConnection.close()))
        await pooler.stop()
      }
    },
  )
})

describe('a connection that breaks after the last query of its validation', () => {
  it('is made anew', async () => {
    let made = 0
    const pgConnection = open(database.url, async (query) => {
      made += 1
      const [row] = await query('select pg_backend_pid() as pid')
      // As when the server is restarted while the checkpoint is written to the disk.
      if (made === 1) await query(`select pg_terminate_backend(${row?.['pid']}, 10000)`)
    })

    await assert.rejects(insert(pgConnection, 1), StorageUnavailable)
    await setTimeout(MADE_ANEW_AFTER_MS)

    assert.equal(await insert(pgConnection, 2), 2)
    assert.deepEqual(await written(), [2])
  })
})

function open(url = database.url, validateConnection: (query: Query) => Promise<void> = async () => {}): PgConnection {
  const pgConnection = new PgConnection({
    url,
    applicationName: 'test',
    answerWithinMs: 10_000,
    validateConnection,
  })
  pgConnections.push(pgConnection)
  return pgConnection
}

async function insert(pgConnection: PgConnection, n: number): Promise<unknown> {
  return (await pgConnection.query(WRITE, [n], 'prepared'))[0]?.['n']
}

function query(sql: string): Promise<Record<string, unknown>[]> {
  return withClient(database.url, async (client) => (await client.query(sql)).rows)
}

async function written(): Promise<unknown[]> {
  return (await query('select n from written order by n')).map(({ n }) => n)
}
