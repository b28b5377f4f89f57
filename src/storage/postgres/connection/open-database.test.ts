import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { PostgresServer, withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { Refusal } from '../../../core/refusals.ts'
import { checkServer, migrateDatabase, withConnection } from './open-database.ts'
import type { Query } from './pg-connection.ts'

function check(url: string): Promise<void> {
  return withConnection(url, async () => {})
}

async function refusalOf(checking: Promise<unknown>): Promise<Refusal> {
  const outcome = await checking.then(
    () => null,
    (error: unknown) => error,
  )
  assert.ok(outcome instanceof Refusal, String(outcome))
  return outcome
}

describe('a database that is fit', () => {
  it('G1: is used', async () => {
    const database = await openTestDatabase()

    await check(database.url)

    await database.drop()
  })
})

describe('a role that is set so that promises would not hold', () => {
  let database: TestDatabase
  let role: string
  let url: string

  beforeEach(async () => {
    database = await openTestDatabase()
    role = `${database.name}_role`
    const own = new URL(database.url)
    own.username = role
    own.password = 'r'
    url = own.href
    await asSuperuser(`create role ${role} login password 'r'; grant create on schema public to ${role}`)
  })

  afterEach(async () => {
    await asSuperuser(`begin read write; drop owned by ${role} cascade; drop role ${role}; commit`)
    await database.drop()
  })

  async function asSuperuser(sql: string): Promise<void> {
    await withClient(database.url, (client) => client.query(sql))
  }

  describe.each([
    ['synchronous_commit', 'off'],
    ['synchronous_commit', 'local'],
    ['synchronous_commit', 'remote_write'],
    ['default_transaction_read_only', 'on'],
    ['default_transaction_isolation', 'repeatable read'],
    ['default_transaction_isolation', 'serializable'],
    ['client_min_messages', 'error'],
  ])('%s = %s', (name, value) => {
    it.each([
      ['role', () => `alter role ${role} set`],
      ['database', () => `alter database ${database.name} set`],
      ['role in the database', () => `alter role ${role} in database ${database.name} set`],
    ])('G1: of the %s is refused, with the statement that repairs it', async (_, change) => {
      await asSuperuser(`${change()} ${name} = '${value}'`)

      const refusal = await refusalOf(check(url))
      const [, remedy = ''] = /Fix it with: (.*)$/.exec(refusal.message) ?? []
      await asSuperuser(remedy)

      assert.equal(refusal.code, 'database_unsafe')
      assert.match(refusal.message, new RegExp(`^${name} is ${value}: `))
      await check(url)
    })

    it('in the URL is refused, and must go there', async () => {
      const options = `-c ${name}=${value.replaceAll(' ', '\\ ')}`

      const refusal = await refusalOf(check(`${url}?options=${encodeURIComponent(options)}`))

      assert.match(refusal.message, /take it out there/)
    })
  })

  it('G7: is refused where triggers would not fire, which only a superuser can set', async () => {
    await asSuperuser(`alter database ${database.name} set session_replication_role = 'replica'`)

    const refusal = await refusalOf(check(url))
    const [, remedy = ''] = /Fix it with: (.*)$/.exec(refusal.message) ?? []
    await asSuperuser(remedy)

    assert.equal(refusal.code, 'database_unsafe')
    assert.match(refusal.message, /^session_replication_role is replica: /)
    await check(url)
  })

  it('may be safer than needed', async () => {
    await asSuperuser(`alter role ${role} set synchronous_commit = 'remote_apply'`)

    await check(url)
  })

  it('is refused before anything is made', async () => {
    await asSuperuser(`alter role ${role} set synchronous_commit = 'off'`)

    await refusalOf(migrateDatabase({ url, migrateUrl: url }))

    await withClient(database.url, async (client) => {
      assert.equal((await client.query(`select to_regclass('migration') as table`)).rows[0].table, null)
    })
  })
})

describe('a database of another kind', () => {
  it('is refused when it does not keep text as UTF-8', async () => {
    const database = await openTestDatabase()
    await withClient(database.url, (client) =>
      client.query(`create database ${database.name}_latin encoding 'LATIN1' locale 'C' template template0`),
    )

    const refusal = await refusalOf(check(database.url.replace(database.name, `${database.name}_latin`)))
    await withClient(database.url, (client) => client.query(`drop database ${database.name}_latin with (force)`))
    await database.drop()

    assert.equal(refusal.code, 'database_unsupported')
    assert.match(refusal.message, /LATIN1.*UTF8/)
  })

  it('is refused when its version is too old', async () => {
    const old: Query = async () => [{ ...FIT, version_number: 140_012, version: '14.12' }]

    const refusal = await refusalOf(checkServer(old, 'postgres://nuncio:secret@db.example/nuncio'))

    assert.equal(refusal.code, 'database_unsupported')
    assert.match(
      refusal.message,
      /^PostgreSQL at db\.example:5432 is of version 14\.12, and Nuncio needs 15 or newer\. Upgrade/,
    )
    await checkServer(async () => [FIT], 'postgres://nuncio:secret@db.example/nuncio')
  })
})

const FIT = {
  version_number: 150_000,
  version: '15.0',
  encoding: 'UTF8',
  is_standby: false,
  connections: 97,
  role: 'nuncio',
  database: 'nuncio',
  settings: {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    default_transaction_read_only: 'off',
    default_transaction_isolation: 'read committed',
    session_replication_role: 'origin',
    client_min_messages: 'notice',
  },
}

describe('a server that is set so that promises would not hold', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await PostgresServer.open({ settings: { fsync: false, full_page_writes: true, max_connections: 40 } })
  })

  afterAll(() => server.close())

  it.each([
    ['fsync', /^fsync is off: .*power cut.*Set in postgresql\.conf: fsync = on\. Then: select pg_reload_conf\(\)$/],
    ['full_page_writes', /^full_page_writes is off: .*damage pages.*: full_page_writes = on\./],
    [
      'synchronous_commit',
      /^synchronous_commit is off: .*Fix it with: alter role "postgres" in database "postgres" set/,
    ],
  ])('G1: is refused for %s, until it is fixed', async (name, sentence) => {
    const fit = { fsync: true, full_page_writes: true, synchronous_commit: 'on' }
    await server.reload({ ...fit, [name]: 'off' })

    const refusal = await refusalOf(check(server.url()))
    await server.reload(fit)

    assert.equal(refusal.code, 'database_unsafe')
    assert.match(refusal.message, sentence)
    await check(server.url())
  })

  it('is refused when it allows too few connections', async () => {
    await server.reload({ fsync: true, max_connections: 26 })
    await server.restart('fast')

    const refusal = await refusalOf(check(server.url()))
    await server.reload({ max_connections: 40 })
    await server.restart('fast')

    assert.equal(refusal.code, 'database_unsupported')
    assert.match(
      refusal.message,
      /^PostgreSQL at 127\.0\.0\.1:\d+ allows 23 connections, and one process of Nuncio may need 25\..*max_connections/,
    )
    await check(server.url())
  })

  it('is refused while it is a standby, and used once it is the primary', async () => {
    await server.reload({ fsync: true })
    const standby = await server.openStandby()

    const refusal = await refusalOf(check(standby.url()))
    await standby.promote()

    assert.equal(refusal.code, 'database_unavailable')
    assert.match(
      refusal.message,
      /^PostgreSQL at 127\.0\.0\.1:\d+ is a standby, which takes no writes\. Name the primary/,
    )
    await check(standby.url())
    await standby.close()
  })
})
