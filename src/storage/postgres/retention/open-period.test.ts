import assert from 'node:assert/strict'
import type { Client } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import {
  DAY_MS,
  FIRST_DAY,
  openDatabaseOfDays,
} from '../../../../test/support/administration-world/database-of-days.ts'
import type { TestDatabase } from '../../../../test/support/postgres/test-database.ts'

let database: TestDatabase
let client: Client

beforeEach(async () => {
  ;({ database, client } = await openDatabaseOfDays())
  await client.query('update period set starts_at = now_ms()')
})

afterEach(async () => {
  await client.end()
  await database.drop()
})

describe('the periods of days', () => {
  it('continue day by day after the clock of the database was ahead for a while', async () => {
    await moveClock(1)
    await moveClock(40)
    await moveClock(1)
    await moveClock(-41)
    const put = await days()
    await moveClock(1)

    assert.deepEqual(put, [0, 0, 1, 1, 1])
    assert.deepEqual(await days(), [0, 0, 1, 1, 1, 2])
  })

  it('are dropped in time, as if the clock had never been ahead', async () => {
    await moveClock(40)
    await moveClock(-40)
    const early = await drop(1)
    await moveClock(1)

    assert.deepEqual([early, await drop(1)], [false, true])
  })

  it('keep their starts while the clock of the database is behind, so that nothing is deleted too early', async () => {
    for (let day = 0; day < 5; day++) await moveClock(1)
    const before = await days()

    await moveClock(-3)
    const behind = await days()
    await moveClock(-30)

    assert.deepEqual([behind, await days()], [before, before])
  })
})

/** As the service does it, several times a day. */
async function moveClock(byDays: number): Promise<void> {
  await client.query(`update day set ms = ms + ${byDays * DAY_MS}; select open_period()`)
}

async function drop(period: number): Promise<unknown> {
  return (await client.query('select drop_period($1) as is', [period])).rows[0]?.is
}

/** On which day each period begins. */
async function days(): Promise<number[]> {
  const { rows } = await client.query('select starts_at from period order by number')
  return rows.map(({ starts_at }) => (Number(starts_at) - FIRST_DAY) / DAY_MS)
}
