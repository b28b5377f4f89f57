import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { MessageId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusals.ts'
import { migrateDatabase, withConnection } from '../connection/open-database.ts'
import { openAdministration } from '../queries/open-administration.ts'
import { applyMigrations, readMigrations } from './migrate.ts'

const DENIED = { code: '42501' }

let database: TestDatabase
/** Roles belong to the whole server, which other tests also use. */
let roles: { readonly owner: string; readonly app: string; readonly stranger: string }

beforeEach(async () => {
  database = await openTestDatabase()
  roles = { owner: `${database.name}_owner`, app: `${database.name}_app`, stranger: `${database.name}_stranger` }
  await asSuperuser(
    `create role ${roles.owner} login password 'o'; create role ${roles.app} login password 'a';
     create role ${roles.stranger} login password 's'; grant create on schema public to ${roles.owner}`,
  )
})

afterEach(async () => {
  const all = Object.values(roles).join()
  await asSuperuser(`drop owned by ${all} cascade; drop role ${all}`)
  await database.drop()
})

async function asSuperuser(sql: string): Promise<void> {
  await withClient(database.url, (client) => client.query(sql))
}

async function setTime(now: number): Promise<void> {
  await asSuperuser(`create or replace function now_ms() returns bigint language sql as 'select ${now}'`)
}

function urlOf(role: keyof typeof roles): string {
  const url = new URL(database.url)
  url.username = roles[role]
  url.password = role[0] ?? ''
  return url.href
}

function query(role: keyof typeof roles, sql: string): Promise<Record<string, unknown>[]> {
  return withClient(urlOf(role), async (client) => (await client.query(sql)).rows)
}

function migrate() {
  return migrateDatabase({ url: urlOf('app'), migrateUrl: urlOf('owner') })
}

describe('a role of its own for the migrations', () => {
  it('makes the tables, which the role of the service can then use for every action of people', async () => {
    await migrate()
    const visit = await openAdministration({ url: urlOf('app'), migrateUrl: urlOf('app') }, { create: false })

    const { administration } = visit
    const account = await administration.createAccount('Acme', 'test')
    const wanted = { channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
    const { id } = await administration.addConnection(
      { accountId: account.id, number: '15550001000', ...wanted },
      'test',
    )
    await query(
      'app',
      `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
         select next_block(), 'message-1', '${account.id}', '${id}', '{}', 0, '1', 'message', now_ms()`,
    )
    const cancelled = await administration.cancelMessage('message-1' as MessageId, 'test')
    const resent = await administration.retryMessage('message-1' as MessageId, 'test')
    await visit.close()

    assert.deepEqual([cancelled.state, resent.state], ['CANCELLED', 'QUEUED'])
  })

  it('lets the role of the service change rows, and nothing else', async () => {
    await migrate()

    const rows = await query(
      'owner',
      `select table_name as name, string_agg(privilege_type, ' ' order by privilege_type) as may
         from information_schema.role_table_grants where grantee = '${roles.app}' group by 1 order by 1`,
    )
    const may = new Map(rows.map(({ name, may: rights }) => [name, rights]))
    assert.deepEqual(
      [may.get('queued'), may.get('settled'), may.get('message')],
      Array(3).fill('DELETE INSERT SELECT UPDATE'),
    )
    for (const table of ['migration', 'applied_functions', 'period']) assert.equal(may.get(table), 'SELECT', table)
    assert.ok(!rows.some(({ name }) => /_p\d+$/.test(String(name))), 'a partition was granted by itself')
    for (const sql of [
      'drop table queued',
      'create table more ()',
      'delete from migration',
      'truncate audit',
      'delete from period',
    ])
      await assert.rejects(query('app', sql), DENIED, sql)
  })

  it('lets the service open and drop periods, and use later partitions', async () => {
    await migrate()

    await setTime(9_000_000_000_000)
    await query('app', 'select open_period()')
    await query(
      'app',
      `insert into timeline (message_sequence, position, at, kind) select (max(number)::bigint << 40) + 1, 1, 1, 'x' from period`,
    )
    const [found] = await query('app', 'select (message_sequence >> 40)::int as period from timeline')
    await setTime(9_000_100_000_000)
    await asSuperuser('create or replace function now_ms() returns bigint language sql as $$ select 9000003600000 $$')
    const [dropped] = await query('app', 'select drop_period(1) as is')

    assert.deepEqual([found, dropped], [{ period: 2 }, { is: true }])
  })

  it('grants nothing to any other role', async () => {
    await migrate()

    for (const sql of ['select open_period()', 'select drop_period(0)', 'select from queued', 'select from token'])
      await assert.rejects(query('stranger', sql), DENIED, sql)
  })

  it('grants the objects of a later migration, also to a new role', async () => {
    await migrate()
    const more = { number: readMigrations().length + 1, name: 'more', breaking: false }
    const sql =
      'create table more (); create function do_more() returns void language sql security definer as $$ select $$;'
    const migrations = [...readMigrations(), { ...more, sql }]

    await withConnection(urlOf('owner'), (owner) =>
      applyMigrations({ query: owner, appRole: roles.app, place: 'here', migrations }),
    )
    await query('app', 'select from more; select do_more()')
    await assert.rejects(query('stranger', 'select do_more()'), DENIED)
    await migrateDatabase({ url: urlOf('stranger'), migrateUrl: urlOf('owner') })

    await query('stranger', 'select from queued; select do_more(); select open_period()')
  })

  it('grants the objects of a later migration to roles that already serve, even if it does not name them', async () => {
    await migrate()
    await asSuperuser(`grant select on queued to ${roles.stranger}`)
    const sql =
      'create table more (); create function do_more() returns void language sql security definer as $$ select $$;'
    const more = { number: readMigrations().length + 1, name: 'more', breaking: false, sql }

    await withConnection(urlOf('owner'), (owner) =>
      applyMigrations({ query: owner, appRole: null, place: 'here', migrations: [...readMigrations(), more] }),
    )

    await query('app', 'select from more; select do_more()')
    await assert.rejects(query('stranger', 'select from more'), DENIED)
  })

  it('is required if the role of the service may make no tables', async () => {
    const migrating = () => migrateDatabase({ url: urlOf('app'), migrateUrl: urlOf('app') })

    const refusal = await migrating().catch((error: unknown) => error)

    assert.ok(refusal instanceof Refusal, String(refusal))
    assert.match(
      refusal.message,
      /^The user “\w+” may make no tables in the schema “public” of the database at \S+\. Allow it: grant create .*; or set NUNCIO_DATABASE_MIGRATE_URL/,
    )
    await asSuperuser(/Allow it: (grant create on schema \S+ to \S+);/.exec(refusal.message)?.[1] ?? '')
    assert.equal((await migrating()).from, 0)
  })

  it('is named by the refusal when a later migration needs it', async () => {
    await migrate()
    const more = { number: readMigrations().length + 1, name: 'more', breaking: false, sql: 'create table more ();' }

    const migrating = withConnection(urlOf('app'), (app) =>
      applyMigrations({ query: app, appRole: null, place: 'here', migrations: [...readMigrations(), more] }),
    )

    await assert.rejects(migrating, { code: 'database_unavailable', message: /MIGRATE_URL to the URL of the owner/ })
  })

  it('must lead to the same tables', async () => {
    await asSuperuser(
      `create schema other; grant usage on schema other to ${roles.app}; alter role ${roles.app} set search_path = other`,
    )

    await assert.rejects(migrate(), { code: 'database_unavailable', message: /same tables.*search_path/ })
  })

  it('is named by the refusal to a role that may not read its tables', async () => {
    await migrate()

    await assert.rejects(
      openAdministration({ url: urlOf('stranger'), migrateUrl: urlOf('stranger') }, { create: false }),
      { code: 'database_unavailable', message: /NUNCIO_DATABASE_MIGRATE_URL/ },
    )
  })
})
