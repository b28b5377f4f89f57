import assert from 'node:assert/strict'
import { Kysely, sql } from 'kysely'
import { Client, type Pool } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { openMigratedDatabase } from '../../../../test/support/administration-world/migrated-database.ts'
import { skipNote } from '../../../../test/support/black-box/skip-note.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import { PgBouncer, whyNoPgBouncer } from '../../../../test/support/postgres/pgbouncer.ts'
import { PostgresServer, withClient } from '../../../../test/support/postgres/postgres-server.ts'
import type { TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { cutAt, TcpProxy } from '../../../../test/support/tcp-proxy.ts'
import type { AccountId } from '../../../core/ids.ts'
import { change, snapshot } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { postgresEngine } from '../queries/administration-engine.ts'
import { openAdministration } from '../queries/open-administration.ts'
import { createPostgresDialect, openPool } from './kysely-dialect.ts'
import { migrateDatabase } from './open-database.ts'

const noPooler = whyNoPgBouncer()
const ACME = { id: 'acc_1' as AccountId, name: 'Acme', created_at: 9_007_199_254_740_991 }

let database: TestDatabase
let pools: Pool[] = []

beforeEach(async () => {
  database = await openMigratedDatabase()
})

afterEach(async () => {
  for (const pool of pools) await pool.end()
  pools = []
  await database.drop()
})

function open(url = database.url) {
  const pool = openPool(url, { user: 'administration', file: null })
  pools.push(pool)
  const kysely = new Kysely<Tables>({ dialect: createPostgresDialect(pool, url) })
  return { pool, kysely, store: { database: kysely, engine: postgresEngine, now: () => 1 } }
}

async function accounts(): Promise<number> {
  return withClient(database.url, async (client) => (await client.query('select from account')).rows.length)
}

function settings(tables: Kysely<Tables>) {
  const names = ['transaction_isolation', 'synchronous_commit', 'lock_timeout', 'idle_in_transaction_session_timeout']
  return sql<
    Record<string, string>
  >`select ${sql.raw(names.map((name) => `current_setting('${name}') as ${name}`).join())}`
    .execute(tables)
    .then(({ rows }) => rows[0])
}

describe('Kysely on PostgreSQL', () => {
  it('reads whole numbers as numbers, and says how many rows it changed', async () => {
    const { kysely } = open()

    const inserted = await kysely.insertInto('account').values(ACME).executeTakeFirstOrThrow()
    const updated = await kysely.updateTable('account').set({ name: 'Other' }).executeTakeFirstOrThrow()

    assert.deepEqual(await kysely.selectFrom('account').selectAll().execute(), [
      { ...ACME, name: 'Other', requires_second_factor: 0, message_seen_at: null, attention_seen: null },
    ])
    assert.deepEqual([inserted.numInsertedOrUpdatedRows, updated.numUpdatedRows], [1n, 1n])
  })

  it('G1: changes durably, and blocks no other transaction for long', async () => {
    const { store, pool } = open()

    const inside = await change(store, 'test', ({ tables }) => settings(tables))
    const after = await settings(store.database)

    assert.deepEqual(inside, {
      transaction_isolation: 'read committed',
      synchronous_commit: 'on',
      lock_timeout: '5s',
      idle_in_transaction_session_timeout: '5s',
    })
    // The same connection, with nothing left on it.
    assert.equal(pool.totalCount, 1)
    assert.deepEqual([after?.['lock_timeout'], after?.['idle_in_transaction_session_timeout']], ['0', '0'])
  })

  it('changes one thing after the other', async () => {
    const { store } = open()
    const order: string[] = []
    const make = (name: string) =>
      change(store, 'test', async () => {
        order.push(`${name} begins`)
        await new Promise((resolve) => setTimeout(resolve, 20))
        order.push(`${name} ends`)
      })

    await Promise.all([make('a'), make('b'), make('c')])

    for (let at = 0; at < order.length; at += 2) assert.equal(order[at]?.[0], order[at + 1]?.[0], order.join())
  })

  it('reads one snapshot, and blocks no writer', async () => {
    const { store, kysely } = open()

    await snapshot(store, async (tables) => {
      assert.deepEqual(await tables.selectFrom('account').selectAll().execute(), [])
      await kysely.insertInto('account').values(ACME).execute()
      assert.deepEqual(await tables.selectFrom('account').selectAll().execute(), [])
    })
  })

  it('takes everything back when a change fails', async () => {
    const { store } = open()

    const failing = change(store, 'test', async ({ tables }) => {
      await tables.insertInto('account').values(ACME).execute()
      throw new Error('no')
    })

    await assert.rejects(failing, { message: 'no' })
    assert.equal(await accounts(), 0)
  })

  it('never takes a rolled back transaction for a committed one', async () => {
    const { store } = open()

    const failing = change(store, 'test', async ({ tables }) => {
      await tables.insertInto('account').values(ACME).execute()
      await sql`select 1 / 0`.execute(tables).catch(() => {})
    })

    await assert.rejects(failing, /rolled back/)
    assert.equal(await accounts(), 0)
  })

  it('refuses clearly when another transaction holds a lock for too long', async () => {
    const { store } = open()
    const holder = new Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('begin; select pg_advisory_xact_lock(3, 0)')

    await assert.rejects(
      change(store, 'test', async () => {}),
      { code: 'database_busy' },
    )
    await holder.end()
    await change(store, 'test', async () => {})
  })
})

describe('a connection of administration that breaks', () => {
  it('while it is idle is made anew', async () => {
    const { kysely } = open()
    await kysely.selectFrom('account').selectAll().execute()

    await endOthers()

    await waitUntil(
      'it works again',
      () =>
        kysely
          .selectFrom('account')
          .selectAll()
          .execute()
          .catch(() => null),
      {
        deadlineMs: 30_000,
        everyMs: 5,
      },
    )
  })

  it('in the middle of a change takes everything back', async () => {
    const { store } = open()

    const changing = change(store, 'test', async ({ tables }) => {
      await tables.insertInto('account').values(ACME).execute()
      await endOthers()
      await tables
        .insertInto('account')
        .values({ ...ACME, id: 'b' as AccountId, name: 'b' })
        .execute()
    })

    await assert.rejects(changing, {
      code: 'database_unavailable',
      message: /broke.*(Nothing was changed|check whether)/,
    })
    assert.equal(await accounts(), 0)
    await change(store, 'test', async () => {})
  })

  it('before the answer to its commit asks to check whether it was done, and it was', async () => {
    const proxy = await TcpProxy.open(Number(new URL(database.url).port))
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const { store } = open(url.href)

    const changing = change(store, 'test', async ({ tables }) => {
      await tables.insertInto('account').values(ACME).execute()
      proxy.onServerData = cutAt('COMMIT')
    })

    await assert.rejects(changing, { code: 'database_unavailable', message: /check whether it was done/ })
    assert.equal(await accounts(), 1)
    await proxy.close()
  })

  async function endOthers(): Promise<void> {
    await withClient(database.url, (client) =>
      client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      ),
    )
  }
})

describe('a server that commits without its standby', () => {
  it('G1: is not believed: the change may be lost with it', async () => {
    const server = await PostgresServer.open()
    await migrateDatabase({ url: server.url(), migrateUrl: server.url() })
    const { store } = open(server.url())
    await store.database.selectFrom('account').selectAll().execute()
    await server.reload({ synchronous_standby_names: 'nobody' })

    const changing = change(store, 'test', ({ tables }) => tables.insertInto('account').values(ACME).execute())
    const giveUpWaiting = waitUntil(
      'the commit waits for the standby',
      async () => {
        const waiting = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
        return (await server.query(waiting)).length > 0
      },
      { deadlineMs: 10_000, everyMs: 10 },
    )

    await Promise.all([
      giveUpWaiting,
      assert.rejects(changing, { code: 'database_unavailable', message: /no standby.*check whether/ }),
    ])
    await pools.pop()?.end()
    await server.close()
  })
})

describe('a short visit', () => {
  it('makes the tables only when it is asked to', async () => {
    await withClient(database.url, (client) => client.query('drop schema public cascade; create schema public'))
    const urls = { url: database.url, migrateUrl: database.url }

    await assert.rejects(openAdministration(urls, { create: false }), { code: 'database_unavailable' })
    const visit = await openAdministration(urls, { create: true })

    assert.deepEqual(await visit.administration.listAccounts(), [])
    await visit.close()
    await visit.close()
  })

  it('goes by the time of the database', async () => {
    const now = 2_000_000_000_000
    await withClient(database.url, (client) =>
      client.query(`create or replace function now_ms() returns bigint language sql as 'select ${now}::bigint'`),
    )
    const visit = await openAdministration({ url: database.url, migrateUrl: database.url }, { create: false })

    const { createdAt } = await visit.administration.createAccount('Acme', 'test')
    await visit.close()

    assert.ok(createdAt >= now && createdAt < now + 60_000, String(createdAt))
  })

  it('is refused on a server that is not safe', async () => {
    const url = `${database.url}?options=-c%20synchronous_commit%3Doff`

    await assert.rejects(openAdministration({ url, migrateUrl: url }, { create: false }), { code: 'database_unsafe' })
  })

  it('is refused with a sentence when the server is away', async () => {
    const url = database.url.replace(/:\d+\//, ':1/')

    await assert.rejects(openAdministration({ url, migrateUrl: url }, { create: false }), {
      code: 'database_unavailable',
      message: /^Nothing listens at/,
    })
  })

  it.skipIf(noPooler !== null)(`goes through a pooler in transaction mode${skipNote(noPooler)}`, async () => {
    const pooler = await PgBouncer.open({ serverUrl: database.url, settings: { default_pool_size: 2 } })
    const url = pooler.url(database.name)
    const visit = await openAdministration({ url, migrateUrl: url }, { create: false })

    await Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map((name) => visit.administration.createAccount(name, 'test')))
    const listed = await visit.administration.listAccounts()
    await visit.close()
    await pooler.stop()

    assert.equal(listed.length, 6)
  })
})
