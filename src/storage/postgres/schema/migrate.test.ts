import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../../../../test/support/black-box/skip-note.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { PgBouncer, whyNoPgBouncer } from '../../../../test/support/postgres/pgbouncer.ts'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import type { Migration } from '../../queries/migrations.ts'
import { migrateDatabase, withConnection } from '../connection/open-database.ts'
import { openAdministration } from '../queries/open-administration.ts'
import { surveyServer } from '../safety/survey-server.ts'
import { applyMigrations, checkMigrations, readApplied, readMigrations } from './migrate.ts'

const NEWEST = readMigrations().length
const noPooler = whyNoPgBouncer()

let database: TestDatabase
let url: string

beforeEach(async () => {
  database = await openTestDatabase()
  url = database.url
})

afterEach(() => database.drop())

/** A migration of a later version. */
function future(sql: string, more: Partial<Migration> = {}): Migration {
  return { number: NEWEST + 1, name: 'from-the-future', sql, breaking: false, ...more }
}

function migrateWith(...more: readonly Migration[]): Promise<{ from: number; to: number }> {
  const migrations = [...readMigrations(), ...more]
  return withConnection(url, (query) => applyMigrations({ query, appRole: null, place: 'here', migrations }))
}

function visit(...more: readonly Migration[]): Promise<void> {
  return withConnection(url, (query) => checkMigrations(query, 'here', [...readMigrations(), ...more]))
}

function query(sql: string): Promise<Record<string, unknown>[]> {
  return withClient(url, async (client) => (await client.query(sql)).rows)
}

describe('the migrations of PostgreSQL', () => {
  it('are stored once each, however often they are applied, and the old and new version are returned', async () => {
    const made = await migrateDatabase({ url, migrateUrl: url })
    const again = await migrateDatabase({ url, migrateUrl: url })

    assert.deepEqual(
      [made, again],
      [
        { from: 0, to: NEWEST },
        { from: NEWEST, to: NEWEST },
      ],
    )
    assert.deepEqual(
      await query('select number, name, breaking from migration order by number'),
      readMigrations().map(({ number, name, breaking }) => ({ number, name, breaking })),
    )
  })

  it('are applied by one of several processes that start together', async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => migrateDatabase({ url, migrateUrl: url })))

    assert.deepEqual(new Set(results.map(({ to }) => to)), new Set([NEWEST]))
    assert.equal((await query('select from migration')).length, NEWEST)
  })

  it('leave nothing behind when one of them fails', async () => {
    await migrateWith()

    await assert.rejects(migrateWith(future('create table half (); select from nowhere;')), /nowhere/)

    assert.deepEqual(
      await query(`select to_regclass('half') as half, (select max(number) from migration) as version`),
      [{ half: null, version: NEWEST }],
    )
  })

  it('leave the earlier version unchanged when a later one fails, and the refusal names it and a remedy', async () => {
    await migrateWith()
    const later = future('create table half ();')

    const failing = migrateWith(later, future('select from nowhere;', { number: NEWEST + 2, name: 'later-still' }))

    await assert.rejects(failing, {
      code: 'database_unavailable',
      message: new RegExp(
        `\\(migration ${NEWEST + 2}, later-still\\): .*nowhere.* Nothing was changed, .*still runs\\. .*try again`,
      ),
    })
    assert.deepEqual(
      await query(`select to_regclass('half') as half, (select max(number) from migration) as version`),
      [{ half: null, version: NEWEST }],
    )
    assert.deepEqual(await migrateWith(later), { from: NEWEST, to: NEWEST + 1 })
  })

  it('are never visible half applied to running processes', async () => {
    await migrateWith()
    const second = future('lock table worker;', { number: NEWEST + 2, name: 'later-still' })

    await withClient(url, async (client) => {
      await client.query('begin; lock table worker')
      const migrating = migrateWith(future('create table thing ();'), second)
      await waitUntil(
        'the second one waits',
        async () =>
          (await query(`select from pg_locks where not granted and relation = 'worker'::regclass`)).length > 0,
        { deadlineMs: 10_000, everyMs: 5 },
      )
      const seen = await query(`select to_regclass('thing') as thing, (select max(number) from migration) as version`)
      await client.query('commit')
      await migrating

      assert.deepEqual(seen, [{ thing: null, version: NEWEST }])
    })
  })

  it('wait for a table in use, and continue when it is free', async () => {
    await migrateWith()

    await withClient(url, async (client) => {
      await client.query('begin; select from worker')
      const migrating = migrateWith(future('alter table worker add column more text;'))
      await waitUntil(
        'the migration waits for the table',
        async () => {
          // Not pg_stat_activity, of which a transaction keeps one snapshot.
          const waiting = `select from pg_locks where not granted and relation = 'worker'::regclass`
          return (await client.query(waiting)).rows.length > 0
        },
        { deadlineMs: 10_000, everyMs: 5 },
      )
      await client.query('commit')

      assert.deepEqual(await migrating, { from: NEWEST, to: NEWEST + 1 })
    })
  })

  it('release waiting statements and retry while a table stays in use', async () => {
    await migrateWith()

    await withClient(url, async (client) => {
      await client.query('begin; select from worker')
      const migrating = migrateWith(future('alter table worker add column more text;'))
      await waitUntil(
        'the migration waits for the table',
        async () => (await client.query(`select from pg_locks where not granted`)).rows.length > 0,
        { deadlineMs: 10_000, everyMs: 5 },
      )
      // It waits behind the migration.
      await query(`insert into worker (id, heartbeat_until) values ('w', 0)`)
      const seen = await query('select max(number) as version from migration')
      await client.query('commit')

      assert.deepEqual(seen, [{ version: NEWEST }])
      assert.deepEqual(await migrating, { from: NEWEST, to: NEWEST + 1 })
    })
  })

  it.skipIf(noPooler !== null)(`go through a pooler in transaction mode${skipNote(noPooler)}`, async () => {
    const pooler = await PgBouncer.open({ serverUrl: url, settings: { default_pool_size: 1 } })
    const pooled = pooler.url(database.name)

    const results = await Promise.all([1, 2].map(() => migrateDatabase({ url: pooled, migrateUrl: pooled })))
    const left = await withClient(pooled, async (client) => {
      return (
        await client.query(`select current_setting('search_path') as path, current_setting('lock_timeout') as wait`)
      ).rows
    })
    await pooler.stop()

    assert.deepEqual(new Set(results.map(({ to }) => to)), new Set([NEWEST]))
    assert.deepEqual(left, [{ path: '"$user", public', wait: '0' }])
  })
})

describe('a database of another version', () => {
  it('that a newer version has changed with a breaking migration is refused', async () => {
    await migrateWith(future('create table thing ();', { breaking: true }))

    const refusal = { code: 'database_newer', message: /from-the-future/ }
    await assert.rejects(migrateDatabase({ url, migrateUrl: url }), refusal)
    await assert.rejects(visit(), refusal)
  })

  it('gets no breaking migration while an older version serves', async () => {
    await migrateWith()
    const breaking = future('create table thing ();', { breaking: true })
    const renewLease = (untilMs: number) =>
      query(`select renew_lease('w', ${untilMs}, 'db-1', 77, 'dispatch', '0.1.0', 'spool')`)
    await renewLease(15_000)

    await assert.rejects(migrateWith(breaking), {
      code: 'database_busy',
      message: /older version .* in process 77 on db-1\. Nothing was changed\. Stop it everywhere/,
    })
    assert.deepEqual(await query(`select to_regclass('thing') as thing`), [{ thing: null }])
    await renewLease(0)
    assert.deepEqual(await migrateWith(breaking), { from: NEWEST, to: NEWEST + 1 })
  })

  it('that a newer version has only added to is accepted', async () => {
    await migrateWith(future('create table thing ();'))

    assert.deepEqual(await migrateDatabase({ url, migrateUrl: url }), { from: NEWEST + 1, to: NEWEST + 1 })
    await visit()
  })

  it('that is older is refused to the CLI with a remedy', async () => {
    await migrateWith()
    const more = future('create table thing ();')

    const refusal = { code: 'database_unavailable', message: /older version.*nuncio migrate/ }
    await assert.rejects(visit(more), refusal)
    assert.deepEqual(await query('select max(number) as version from migration'), [{ version: NEWEST }])
    await migrateWith(more)
    await visit(more)
  })

  it('that is empty is refused to the CLI with a remedy', async () => {
    await assert.rejects(visit(), { code: 'database_unavailable', message: /nothing in the database.*nuncio serve/ })
  })
})

describe('a database that was made from another baseline', () => {
  it.each([
    ['another one of before the first release', `update migration set name = 'baseline-0123456789ab'`],
    [
      'the thirty migrations of before',
      `update migration set name = 'first-tables'; drop table applied_functions;
       insert into migration select n, 'more', false from generate_series(2, 30) n`,
    ],
  ])('is refused with a remedy by every opener, and left unchanged: %s', async (_, sql) => {
    await migrateWith()
    await query(sql)
    const before = await everythingIn()

    const refusal = {
      code: 'database_unsupported',
      message:
        /^The database at \S+ was made by .* before the first release, .*Name an empty database in NUNCIO_DATABASE_URL, or run the version that made it\.$/,
    }
    await assert.rejects(migrateDatabase({ url, migrateUrl: url }), refusal)
    await assert.rejects(migrateWith(future('create table thing ();')), refusal)
    await assert.rejects(visit(), refusal)
    await assert.rejects(openAdministration({ url, migrateUrl: url }, { create: true }), refusal)
    await assert.rejects(surveyServer(url, Date.now), refusal)
    await assert.rejects(
      withConnection(url, (query) => readApplied(query, 'here')),
      refusal,
    )

    assert.deepEqual(await everythingIn(), before)
  })

  /** The applied migrations, and the last change of every object of the schema. */
  async function everythingIn() {
    return [
      await query('select * from migration order by number'),
      await query(`select oid, xmin from pg_class where relnamespace = 'public'::regnamespace order by oid`),
      await query(`select oid, xmin from pg_proc where pronamespace = 'public'::regnamespace order by oid`),
    ]
  }
})

describe('a database that is not ours', () => {
  it.each([
    ['a table', 'create table recipe (name text)'],
    ['a table of the name of ours', 'create table migration (id bigint, name text)'],
    ['a view', 'create view recipe as select 1'],
  ])('is refused and left unchanged: it has %s', async (_, sql) => {
    await query(sql)

    await assert.rejects(migrateDatabase({ url, migrateUrl: url }), {
      code: 'database_foreign',
      message: /database of its own/,
    })
    await assert.rejects(visit(), { code: 'database_foreign' })
    assert.equal(
      (await query(`select from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')`))
        .length,
      1,
    )
  })

  it('is refused when the search path of its user names no schema', async () => {
    await query('drop schema public')

    await assert.rejects(migrateDatabase({ url, migrateUrl: url }), {
      code: 'database_unavailable',
      message: /create schema/,
    })
  })

  it('does no harm in another schema', async () => {
    await query('create schema kitchen; create table kitchen.recipe (name text)')

    assert.deepEqual(await migrateDatabase({ url, migrateUrl: url }), { from: 0, to: NEWEST })
  })

  it('is used when an empty schema comes first in the search path of its user', async () => {
    await query('create table recipe (name text); create schema nuncio')
    url = `${url}?options=-c%20search_path%3Dnuncio`

    await migrateDatabase({ url, migrateUrl: url })

    await visit()
    assert.deepEqual(
      await query(`select to_regclass('nuncio.queued') is not null as ours, to_regclass('public.queued') as theirs`),
      [{ ours: true, theirs: null }],
    )
  })
})
