import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, it } from 'vitest'
import { withClient } from './postgres-server.ts'
import { openTestDatabase, type TestDatabase } from './test-database.ts'

describe('a database of one test', () => {
  const opened: TestDatabase[] = []

  afterEach(async () => {
    for (const database of opened.splice(0)) await database.drop()
  })

  it('is empty', async () => {
    const { url } = await open()

    const tables = await ask(url, `select count(*)::int as count from pg_tables where schemaname = 'public'`)

    assert.deepEqual(tables, [{ count: 0 }])
  })

  it('is a copy of its template, and its changes are not in other copies', async () => {
    const template = { name: 'copy', prepare: prepareOnce() }
    const [anna, ben] = [await open(template), await open(template)]

    await ask(anna.url, 'insert into prepared values (2)')

    assert.deepEqual(await ask(anna.url, 'select n from prepared order by n'), [{ n: 1 }, { n: 2 }])
    assert.deepEqual(await ask(ben.url, 'select n from prepared'), [{ n: 1 }])
  })

  it('has its template prepared once, however many are opened at the same time', async () => {
    let times = 0
    const prepare = async (url: string) => {
      times += 1
      await setTimeout(50)
      await prepareOnce()(url)
    }

    const all = await Promise.all(Array.from({ length: 8 }, () => open({ name: 'crowd', prepare })))

    assert.equal(times, 1)
    for (const { url } of all) assert.deepEqual(await ask(url, 'select n from prepared'), [{ n: 1 }])
  })

  it('reports why its template could not be prepared, and the next one tries again', async () => {
    const broken = async (url: string) => {
      await ask(url, 'create table prepared (n int)')
      throw new Error('the migration has a fault')
    }

    await assert.rejects(open({ name: 'broken', prepare: broken }), /the migration has a fault/)

    const { url } = await open({ name: 'broken', prepare: prepareOnce() })
    assert.deepEqual(await ask(url, 'select n from prepared'), [{ n: 1 }])
  })

  it('can be dropped while it is in use, and a second time', async () => {
    const { url, name, drop } = await openTestDatabase()
    const other = await open()

    await withClient(url, async (client) => {
      await drop()
      await assert.rejects(client.query('select 1'))
    })

    await drop()
    const names = await ask(
      other.url,
      `select datname as name from pg_database where datname in ('${name}', '${other.name}')`,
    )
    assert.deepEqual(names, [{ name: other.name }])
  })

  async function open(template?: Parameters<typeof openTestDatabase>[0]) {
    const database = await openTestDatabase(template)
    opened.push(database)
    return database
  }
})

function prepareOnce() {
  return async (url: string) => void (await ask(url, 'create table prepared as select 1 as n'))
}

function ask(url: string, sql: string): Promise<unknown[]> {
  return withClient(url, async (client) => (await client.query(sql)).rows)
}
