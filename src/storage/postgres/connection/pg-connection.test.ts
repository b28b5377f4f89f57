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
let links: PgConnection[]

beforeEach(async () => {
  database = await openTestDatabase()
  links = []
  await query('create table written (n integer)')
})

afterEach(async () => {
  await Promise.all(links.map((link) => link.close()))
  await database.drop()
})

describe('a statement that is prepared', () => {
  it('is parsed once for each session', async () => {
    const link = open()

    for (const n of [1, 2, 3]) assert.equal(await insert(link, n), n)
    const known = await link.ask('select statement from pg_prepared_statements')

    assert.deepEqual(known, [{ statement: WRITE }])
  })

  it('is executed once when the session has forgotten it', async () => {
    const link = open()
    await insert(link, 1)
    await link.ask('deallocate all')

    const answers = [await insert(link, 2), await insert(link, 3)]

    assert.deepEqual(answers, [2, 3])
    assert.deepEqual(await written(), [1, 2, 3])
  })

  it('is asked anew when what it calls returns something else since', async () => {
    const link = open()
    await query('create function pair() returns table (a integer) language sql as $$ select 1 $$')
    await link.ask('select * from pair()', [], 'prepared')
    await query(
      `drop function pair; create function pair() returns table (a integer, b integer) language sql as $$ select 1, 2 $$`,
    )

    const answer = await link.ask('select * from pair()', [], 'prepared')

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
        await Promise.all(links.map((link) => link.close()))
        await pooler.stop()
      }
    },
  )
})

describe('a connection that breaks after the last query of its validation', () => {
  it('is made anew', async () => {
    let made = 0
    const link = open(database.url, async (ask) => {
      made += 1
      const [row] = await ask('select pg_backend_pid() as pid')
      // As when the server is restarted while the checkpoint is written to the disk.
      if (made === 1) await query(`select pg_terminate_backend(${row?.['pid']}, 10000)`)
    })

    await assert.rejects(insert(link, 1), StorageUnavailable)
    await setTimeout(MADE_ANEW_AFTER_MS)

    assert.equal(await insert(link, 2), 2)
    assert.deepEqual(await written(), [2])
  })
})

function open(url = database.url, validateConnection: (ask: Query) => Promise<void> = async () => {}): PgConnection {
  const link = new PgConnection({
    url,
    applicationName: 'test',
    answerWithinMs: 10_000,
    validateConnection,
  })
  links.push(link)
  return link
}

async function insert(link: PgConnection, n: number): Promise<unknown> {
  return (await link.ask(WRITE, [n], 'prepared'))[0]?.['n']
}

function query(sql: string): Promise<Record<string, unknown>[]> {
  return withClient(database.url, async (client) => (await client.query(sql)).rows)
}

async function written(): Promise<unknown[]> {
  return (await query('select n from written order by n')).map(({ n }) => n)
}
