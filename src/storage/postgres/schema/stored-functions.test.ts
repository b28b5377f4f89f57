import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { migrateDatabase, withConnection } from '../connection/open-database.ts'
import { applyMigrations, checkMigrations, readMigrations } from './migrate.ts'
import { readFunctions, type StoredFunctions } from './stored-functions.ts'

const OURS = { ...readFunctions(), version: '1.9.0' }
const NEWEST = readMigrations().length

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  await migrate(OURS)
})

afterEach(() => database.drop())

/** Our functions and one more. */
function changed(version: string, answer: string): StoredFunctions {
  const more = `create or replace function answer() returns text language sql as $$ select '${answer}' $$;`
  return { version, hash: answer, sql: `${OURS.sql}\n${more}` }
}

function migrate(functions: StoredFunctions, migrations = readMigrations()): Promise<{ from: number; to: number }> {
  return withConnection(database.url, (query) =>
    applyMigrations({ query, appRole: null, place: 'here', functions, migrations }),
  )
}

function query(sql: string): Promise<Record<string, unknown>[]> {
  return withClient(database.url, async (client) => (await client.query(sql)).rows)
}

async function answer(): Promise<unknown> {
  return (await query('select answer()'))[0]?.['answer']
}

describe('the stored functions', () => {
  it('are replaced by a version that brings others, once', async () => {
    await migrate(changed('1.9.0', 'first'))
    const first = await answer()
    await migrate(changed('1.10.0', 'second'))
    const written = await query('select xmin from applied_functions')
    await migrate(changed('1.10.0', 'second'))

    assert.deepEqual([first, await answer()], ['first', 'second'])
    assert.deepEqual(await query('select version, hash from applied_functions'), [
      { version: '1.10.0', hash: 'second' },
    ])
    assert.deepEqual(await query('select xmin from applied_functions'), written)
  })

  it('are left alone by an older version, which serves beside a newer one', async () => {
    await migrate(changed('1.10.0', 'newer'))

    await migrate(changed('1.9.7', 'older'))
    await withConnection(database.url, (query) => checkMigrations(query, 'here'))

    assert.equal(await answer(), 'newer')
    assert.deepEqual(await query('select version from applied_functions'), [{ version: '1.10.0' }])
  })

  it('are left alone where a newer version has migrated the tables', async () => {
    const more = { number: NEWEST + 1, name: 'more', sql: 'create table more ();', breaking: false }
    await migrate(changed('1.9.0', 'newer'), [...readMigrations(), more])

    await migrate(changed('1.9.0', 'other'))

    assert.equal(await answer(), 'newer')
  })

  it('come before the migrations of their version, which may need them', async () => {
    const sql = 'create table more (answer text default answer());'
    const more = { number: NEWEST + 1, name: 'more', sql, breaking: false }

    await migrate(changed('1.9.0', 'yes'), [...readMigrations(), more])

    assert.deepEqual(await query('insert into more default values returning answer'), [{ answer: 'yes' }])
  })

  it('all stay unchanged when one of them is refused, and the refusal says so', async () => {
    await migrate(changed('1.9.0', 'first'))
    const broken = changed('1.9.1', 'second')
    const sql = `${broken.sql} create or replace function now_ms() returns text language sql as $$ select '' $$;`

    await assert.rejects(migrate({ ...broken, sql }), {
      code: 'database_unavailable',
      message: /cannot be brought up to date \(functions\): cannot change return type .* Nothing was changed/,
    })

    assert.equal(await answer(), 'first')
    assert.deepEqual(await query('select hash from applied_functions'), [{ hash: 'first' }])
  })

  it('are replaced while other sessions use the tables', async () => {
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table queued, settled, lane, lane_attempt, token, connection, worker')

      await migrate(changed('1.9.1', 'second'))

      await client.query('rollback')
    })

    assert.equal(await answer(), 'second')
  })

  it('of another version are refused to the CLI until the service has brought them up to date', async () => {
    await query(`update applied_functions set version = '0.0.1', hash = 'other'`)
    const visit = () => withConnection(database.url, (query) => checkMigrations(query, 'here'))

    await assert.rejects(visit(), { code: 'database_unavailable', message: /older version.*migrate$/ })

    await migrateDatabase({ url: database.url, migrateUrl: database.url })
    await visit()
  })

  it('can be applied again, and their bodies name only existing objects', async () => {
    // The migration cannot check bodies, because some functions name others that come after them.
    await query(`begin; set local check_function_bodies = on; ${OURS.sql}; rollback`)
  })

  it('have one signature each, so that no call fits two of them', async () => {
    const twice = `select proname from pg_proc where pronamespace = 'public'::regnamespace group by 1 having count(*) > 1`

    assert.deepEqual(await query(twice), [])
  })
})
