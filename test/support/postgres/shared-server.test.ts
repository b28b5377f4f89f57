import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findFreePort } from '../black-box/free-port.ts'
import { memoryFolder } from './memory-folder.ts'
import { PostgresServer, withClient } from './postgres-server.ts'
import { SharedServer } from './shared-server.ts'

const OURS = `select datname as name from pg_database where datname like 'nuncio%' order by datname`

describe('a server that is named to the tests', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await PostgresServer.open({ parentFolder: memoryFolder() })
  })

  afterAll(() => server.close())

  it('is used unchanged, and left as it was', async () => {
    await server.createDatabase('nuncio_of_another')
    const shared = new SharedServer(server.url())

    const { url, prefix } = await shared.access()
    await server.createDatabase(`${prefix}one`)
    await server.query(`alter database ${prefix}one with is_template true allow_connections false`)
    const during = await server.query(OURS)
    await shared.stop()

    const after = await server.query(OURS)
    assert.equal(url, server.url())
    assert.deepEqual(during, [{ name: 'nuncio_of_another' }, { name: `${prefix}one` }])
    assert.deepEqual(after, [{ name: 'nuncio_of_another' }])
    assert.ok(server.isRunning)
  })

  it('loses the databases of killed runs, and none of a running one', async () => {
    const living = new SharedServer(server.url())
    const { prefix } = await living.access()
    await server.createDatabase(`${prefix}in_use`)
    await server.createDatabase('nuncio_test_123_left')

    const next = new SharedServer(server.url())
    await next.access()

    const names = (await server.query<{ name: string }>(OURS)).map(({ name }) => name)
    await next.stop()
    await living.stop()
    assert.ok(names.includes(`${prefix}in_use`))
    assert.ok(!names.includes('nuncio_test_123_left'))
  })

  it.each([
    ['no server answers', async () => `postgres://postgres@127.0.0.1:${await findFreePort()}/postgres`, /ECONNREFUSED/],
    ['the password is wrong', async () => server.url().replace(server.password, 'wrong'), /password authentication/],
    ['the user may too little', async () => await createPlainUser(server), /its user is no superuser/],
    ['it is no URL', async () => 'postgres://::::', /Invalid URL/],
  ])('is refused in one sentence, and no test is skipped, when %s', async (_, url, words) => {
    const shared = new SharedServer(await url())

    const error = await shared.access().catch((error: unknown) => error)

    await shared.stop()
    assert.ok(error instanceof Error)
    assert.match(error.message, /^The server of NUNCIO_TEST_POSTGRES_URL cannot be used: [^\n]+$/)
    assert.match(error.message, words)
  })
})

describe('a server that the run starts for all tests', () => {
  it('is shared by all callers, has room for many, and is gone when it is stopped', async () => {
    const shared = new SharedServer('')

    const [first, second] = await Promise.all([shared.access(), shared.access()])
    const { rows } = await withClient(first.url, (client) =>
      client.query(`select current_setting('fsync') as fsync, current_setting('max_connections') as connections`),
    )
    await shared.stop()

    assert.deepEqual(first, second)
    assert.deepEqual(rows, [{ fsync: 'on', connections: '300' }])
    await assert.rejects(
      withClient(first.url, (client) => client.query('select 1')),
      { code: 'ECONNREFUSED' },
    )
  })

  it('does not start when no test asks for it', async () => {
    await new SharedServer('').stop()
  })
})

async function createPlainUser(server: PostgresServer): Promise<string> {
  await withClient(server.url(), (client) => client.query(`create role plain login password 'plain'`))
  return `postgres://plain:plain@127.0.0.1:${server.port}/postgres`
}
