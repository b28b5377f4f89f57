import assert from 'node:assert/strict'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { garbageCollector } from '../../../../test/support/garbage-collector.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { queryClient } from './pg-connection.ts'

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

describe('asking over a client of pg', () => {
  it('gives the rows, and rejects with what the server says', async () => {
    const { rows } = await queryClient(client, { text: 'select $1::integer as n', values: [7] }, 10_000)

    assert.deepEqual(rows, [{ n: 7 }])
    await assert.rejects(queryClient(client, { text: 'select 1 / 0' }, 10_000), { code: '22012' })
  })

  it('gives up waiting, and a late answer does no harm', async () => {
    const began = performance.now()

    await assert.rejects(queryClient(client, { text: 'select pg_sleep(3)' }, 50), /did not answer in time/)

    assert.ok(performance.now() - began < 2_500)
    assert.deepEqual((await queryClient(client, { text: 'select 2 as n' }, 10_000)).rows, [{ n: 2 }])
  })

  it('keeps nothing of a statement that a small collection of garbage cannot take', async () => {
    const kept = await keptBytes((values) => queryClient(client, { text: SQL, values }, 10_000))

    assert.ok(kept < ALL_VALUES / 4, `${kept} bytes were kept`)
  })

  it('negative control: a promise of pg keeps all of it until the next large one', async () => {
    const kept = await keptBytes((values) => client.query({ text: SQL, values }))

    assert.ok(kept > ALL_VALUES / 2, `${kept} bytes were kept`)
  })
})

/** Bytes of buffers that are left after many statements and small collections only. */
async function keptBytes(query: (values: Buffer[]) => Promise<unknown>): Promise<number> {
  const collect = garbageCollector()
  collect()
  const before = process.memoryUsage().arrayBuffers
  for (let asked = 0; asked < STATEMENTS; asked += 1) {
    await query([Buffer.alloc(VALUE_BYTES, asked)])
    collect({ type: 'minor' })
  }
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  return process.memoryUsage().arrayBuffers - before
}
