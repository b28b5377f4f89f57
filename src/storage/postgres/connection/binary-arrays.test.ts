import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { bigintArray, booleanArray, integerArray, textArray, withoutNul } from './binary-arrays.ts'

let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await openTestDatabase()
  client = new Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

describe('arrays in binary form', () => {
  it('arrive as they were sent, with nulls and with nothing in them', async () => {
    const text = fc.string({ unit: 'binary' }).map(withoutNul)
    const big = fc.maxSafeInteger()
    const small = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })

    await fc.assert(
      fc.asyncProperty(
        fc.record({
          texts: fc.array(fc.option(text)),
          bigs: fc.array(fc.option(big)),
          smalls: fc.array(fc.option(small)),
          flags: fc.array(fc.option(fc.boolean())),
        }),
        async ({ texts, bigs, smalls, flags }) => {
          const values = [textArray(texts), bigintArray(bigs), integerArray(smalls), booleanArray(flags)]
          const { rows } = await client.query(
            'select to_json($1::text[]) as texts, $2::bigint[]::text[] as bigs, $3::integer[] as smalls, $4::boolean[] as flags',
            values,
          )
          assert.deepEqual(rows[0], {
            texts,
            bigs: bigs.map((each) => (each === null ? null : String(each))),
            smalls,
            flags,
          })
        },
      ),
      { numRuns: 100 },
    )
  })

  it('hold numbers up to the largest that is safe', async () => {
    const numbers = [0, 1, -1, 2 ** 31, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

    const { rows } = await client.query('select $1::bigint[]::text[] as numbers', [bigintArray(numbers)])

    assert.deepEqual(rows[0].numbers, numbers.map(String))
  })

  it('show a zero character as its symbol, because the database takes none', () => {
    assert.equal(withoutNul('a\0b\0'), 'a␀b␀')
  })
})
