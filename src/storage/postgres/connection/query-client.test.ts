import assert from 'node:assert/strict'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { garbageCollector } from '../../../../test/support/garbage-collector.ts'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { queryClient, queryForText } from './query-client.ts'
import type { Parameter } from './text-query.ts'

const STATEMENTS = 60
const VALUE_BYTES = 100_000
const ALL_VALUES = STATEMENTS * VALUE_BYTES
// V8 compiles what is used often a second time, and the compiled code makes its functions elsewhere: too few for that.
const SQL = 'select length($1::bytea) as n, pg_sleep(0.001)'

let database: TestDatabase
let client: Client

beforeEach(async () => {
  database = await openTestDatabase()
  client = new Client({ connectionString: database.url })
  await client.connect()
})

afterEach(async () => {
  await client.end().catch(() => {})
  await database.drop()
})

describe('asking a client of pg for a text', () => {
  const ECHO = 'select concat($1::text, $2::integer, $3::boolean, $4::bytea)'

  it('gives it, whatever comes before and after, and asks the session to remember the statement', async () => {
    const echo = (...values: Parameter[]) => queryForText(client, { name: 'echo', text: ECHO, values }, 10_000)

    const told = [await echo('a é 🙂', 7, true, Buffer.from('xy')), await echo(null, null, null, null)]

    assert.deepEqual(told, ['a é 🙂7t\\x7879', ''])
    assert.deepEqual((await queryClient(client, { text: 'select 3 as n' }, 10_000)).rows, [{ n: 3 }])
    assert.equal(await echo('b', null, null, null), 'b')
    const { rows } = await queryClient(
      client,
      { text: 'select name, generic_plans + custom_plans as runs from pg_prepared_statements' },
      10_000,
    )
    assert.deepEqual(rows, [{ name: 'echo', runs: '3' }])
  })

  it('rejects where there is no text to give, and goes on', async () => {
    const ask = (text: string) => queryForText(client, { name: '', text, values: [] }, 10_000)

    await assert.rejects(ask('select null'), /gave no answer/)
    await assert.rejects(ask('select 1 where false'), /gave no answer/)
    assert.deepEqual([await ask("select ''"), await ask("select 'x'")], ['', 'x'])
  })

  it('rejects with what the server says, also of a statement that cannot be read, and goes on', async () => {
    const divide = (by: number) =>
      queryForText(client, { name: 'divide', text: 'select 6 / $1::integer', values: [by] }, 10_000)

    await assert.rejects(divide(0), { code: '22012' })
    assert.equal(await divide(3), '2')
    await assert.rejects(queryForText(client, { name: 'odd', text: 'selectt', values: [] }, 10_000), { code: '42601' })
    assert.equal(await divide(2), '3')
  })

  it('gives up waiting, and when the line breaks', async () => {
    const sleep = (seconds: number, withinMs: number) =>
      queryForText(client, { name: 'sleep', text: 'select pg_sleep($1)', values: [seconds] }, withinMs)
    await assert.rejects(sleep(0.3, 20), /did not answer in time/)
    assert.equal(await queryForText(client, { name: '', text: 'select 2', values: [] }, 10_000), '2')
    client.on('error', () => {})

    const broken = assert.rejects(sleep(20, 30_000), { code: '57P01' })
    const end = `select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep($1)%' and state = 'active' and pid <> pg_backend_pid()`
    const isEnded = () => withClient(database.url, async (other) => (await other.query(end)).rows.length > 0)
    await waitUntil('the session is ended', isEnded, { deadlineMs: 10_000 })

    await broken
  })
})

describe('asking over a client of pg', () => {
  it('gives the rows, and rejects with what the server says', async () => {
    const { rows } = await queryClient(client, { text: 'select $1::integer as n', values: [7] }, 10_000)

    assert.deepEqual(rows, [{ n: 7 }])
    await assert.rejects(queryClient(client, { text: 'select 1 / 0' }, 10_000), { code: '22012' })
  })

  it('gives up waiting, and what comes later hurts nobody', async () => {
    const began = performance.now()

    await assert.rejects(queryClient(client, { text: 'select pg_sleep(3)' }, 50), /did not answer in time/)

    assert.ok(performance.now() - began < 2_500)
    assert.deepEqual((await queryClient(client, { text: 'select 2 as n' }, 10_000)).rows, [{ n: 2 }])
  })

  it.each<[string, (values: Buffer[]) => Promise<unknown>]>([
    ['rows', (values) => queryClient(client, { text: SQL, values }, 10_000)],
    ['a text', (values) => queryForText(client, { name: 'long', text: SQL, values }, 10_000)],
  ])('asked for %s, keeps nothing of a statement that a small collection of garbage cannot take', async (_, ask) => {
    const kept = await keptBytes(ask)

    assert.ok(kept < ALL_VALUES / 4, `${kept} bytes were kept`)
  })

  it('negative control: a promise of pg keeps all of it until the next large one', async () => {
    const kept = await keptBytes((values) => client.query({ text: SQL, values }))

    assert.ok(kept > ALL_VALUES / 2, `${kept} bytes were kept`)
  })
})

/** Bytes of buffers that are left after many statements and small collections only. */
async function keptBytes(ask: (values: Buffer[]) => Promise<unknown>): Promise<number> {
  const collect = garbageCollector()
  collect()
  const before = process.memoryUsage().arrayBuffers
  for (let asked = 0; asked < STATEMENTS; asked += 1) {
    await ask([Buffer.alloc(VALUE_BYTES, asked)])
    collect({ type: 'minor' })
  }
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  return process.memoryUsage().arrayBuffers - before
}
