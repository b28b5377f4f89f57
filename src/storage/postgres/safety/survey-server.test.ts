import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { migrateDatabase } from '../connection/open-database.ts'
import { readMigrations } from '../schema/migrate.ts'
import { surveyServer } from './survey-server.ts'

const NEWEST = readMigrations().length

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.drop())

function change(sql: string): Promise<unknown> {
  return withClient(database.url, (client) => client.query(sql))
}

async function surveyVersion(): Promise<number | null> {
  return (await surveyServer(database.url, Date.now)).migrated
}

describe('the survey of a server', () => {
  it('finds no tables, those of this version, or more from a newer version', async () => {
    const nothing = await surveyVersion()
    await migrateDatabase({ url: database.url, migrateUrl: database.url })
    const ours = await surveyVersion()
    await change(`insert into migration (number, name, breaking) values (${NEWEST + 1}, 'one-more', false)`)

    assert.deepEqual([nothing, ours, await surveyVersion()], [null, NEWEST, NEWEST + 1])
  })

  it('counts the transaction numbers that are left, nearly all on a new server', async () => {
    const { transactions, multixacts } = await surveyServer(database.url, Date.now)

    for (const { left, overdue } of [transactions, multixacts]) {
      assert.ok(left > 2_000_000_000 && left < 2 ** 31, `${left} are left`)
      assert.ok(overdue < -100_000_000, `${overdue} are overdue`)
    }
  })

  it('refuses tables of another program, as the start does', async () => {
    await change('create table recipe (name text)')

    await assert.rejects(surveyVersion(), { code: 'database_foreign', message: /tables of another program/ })
  })

  it('refuses tables on which this version must not run, as the start does', async () => {
    await migrateDatabase({ url: database.url, migrateUrl: database.url })
    await change(`insert into migration (number, name, breaking) values (${NEWEST + 1}, 'from-the-future', true)`)

    await assert.rejects(surveyVersion(), { code: 'database_newer', message: /from-the-future/ })
  })
})
