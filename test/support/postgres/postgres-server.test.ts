import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import { waitUntil } from '../black-box/wait-until.ts'
import { memoryFolder } from './memory-folder.ts'
import { PostgresServer, withClient } from './postgres-server.ts'

describe('a PostgreSQL for tests', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await PostgresServer.open({
      parentFolder: memoryFolder(),
      settings: { work_mem: '5MB' },
      password: `it's "\\" %`,
    })
  })

  afterAll(() => server.close())

  it('runs with the durable settings that the service requires, and with the given ones', async () => {
    const [row] = await server.query(`
      select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
             current_setting('synchronous_commit') as commit, current_setting('work_mem') as work_mem`)

    assert.deepEqual(row, { fsync: 'on', pages: 'on', commit: 'on', work_mem: '5MB' })
  })

  it('requires the password, and stores it in no file', async () => {
    const folder = dirname(server.dataFolder)
    const wrong = new URL(server.url())
    wrong.password = 'wrong'

    await assert.rejects(
      withClient(wrong.href, (client) => client.query('select 1')),
      { code: '28P01' },
    )
    assert.ok(readdirSync(folder).includes('postgres.log'))
    for (const name of readdirSync(folder)) {
      if (name !== 'data') assert.ok(!readFileSync(join(folder, name), 'utf8').includes(server.password), name)
    }
  })

  it('can be reached on the loopback only', async () => {
    const [row] = await server.query(
      `select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets`,
    )

    assert.deepEqual(row, { addresses: '127.0.0.1', sockets: '' })
  })

  it('creates and drops databases of any name, also while they are in use', async () => {
    const url = await server.createDatabase('a "b" ü')

    await withClient(url, async (client) => {
      const { rows } = await client.query('select current_database() as name')
      await server.dropDatabase('a "b" ü')
      await assert.rejects(client.query('select 1'))
      assert.deepEqual(rows, [{ name: 'a "b" ü' }])
    })
    assert.deepEqual(await server.query(`select from pg_database where datname like 'a %'`), [])
  })

  it.each([
    ['a fast restart', () => server.restart('fast')],
    ['an immediate restart', () => server.restart('immediate')],
    ['kill -9', () => server.killNine().then(() => server.start())],
  ])('keeps its port and what was committed over %s', async (_, restart) => {
    await server.query('create table if not exists kept (n int)')
    const rowsBefore = await server.query('insert into kept values (1) returning (select count(*) from kept) as before')
    const { port } = server

    await restart()

    const rowsAfter = await server.query('select count(*) - 1 as before from kept')
    assert.equal(server.port, port)
    assert.deepEqual(rowsAfter, rowsBefore)
  })

  it('disconnects its clients when it is killed', async () => {
    await withClient(server.url(), async (client) => {
      const waits = client.query('select pg_sleep(60)')

      const [error] = await Promise.all([waits.catch((error: unknown) => error), server.restart('immediate')])

      assert.ok(error instanceof Error)
    })
  })

  it('starts again only when no process of the killed one is left', async () => {
    await withClient(server.url(), async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      const [{ pid }] = rows as [{ pid: number }]
      process.kill(pid, 'SIGSTOP')
      await server.killNine()
      let isStarted = false

      const started = server.start().then(() => {
        isStarted = true
      })

      await waitUntil('it sees what is left', async () => server.log.includes('pre-existing shared memory'), {
        deadlineMs: 10_000,
      })
      const wasStarted = isStarted
      process.kill(pid, 'SIGCONT')
      await started
      assert.equal(wasStarted, false)
    })
  })

  it('changes settings while it runs, and keeps them after a restart', async () => {
    await server.reload({ work_mem: '7MB', application_name: `it's \\ "quoted"` })
    const changed = await server.query('show work_mem')
    await server.restart('fast')
    const kept = await server.query(
      `select current_setting('work_mem') as work_mem, current_setting('application_name') as name`,
    )

    assert.deepEqual(changed, [{ work_mem: '7MB' }])
    assert.deepEqual(kept, [{ work_mem: '7MB', name: `it's \\ "quoted"` }])
  })

  it('fails with the end of its log when it does not start, and leaves nothing behind', async () => {
    const parentFolder = mkdtempSync(join(memoryFolder(), 'nuncio-postgres-test-'))
    chmodSync(parentFolder, 0o755)

    await assert.rejects(
      PostgresServer.open({ parentFolder, settings: { work_mem: 'plenty' } }),
      /did not start:[\s\S]*invalid value for parameter "work_mem": "plenty"/,
    )

    // Fails unless the folder is empty.
    rmdirSync(parentFolder)
  })

  it('stopping twice, and starting again afterwards, is harmless', async () => {
    await server.stop('fast')
    await server.stop('immediate')
    await server.start()

    assert.deepEqual(await server.query('select 1 as one'), [{ one: 1 }])
  })
})

describe('a PostgreSQL on a given folder', () => {
  let parent: string

  beforeEach(() => {
    parent = mkdtempSync(join(memoryFolder(), 'nuncio-postgres-test-'))
  })

  afterEach(() => rmSync(parent, { recursive: true }))

  it('keeps the folder, and continues from it the next time', async () => {
    chmodSync(parent, 0o755)
    const dataFolder = join(parent, 'data')
    const first = await PostgresServer.open({ dataFolder, password: 'secret', settings: { fsync: false } })
    await first.query('create table kept as select 42 as n')
    await first.close()

    const second = await PostgresServer.open({ dataFolder, password: 'secret' })

    const rows = await second.query(`select n, current_setting('fsync') as fsync from kept`)
    await second.close()
    assert.deepEqual(rows, [{ n: 42, fsync: 'on' }])
    assert.ok(existsSync(join(dataFolder, 'PG_VERSION')))
  })

  it('continues from a copy of a running one, as after a power cut', async () => {
    chmodSync(parent, 0o755)
    const [dataFolder, copy] = [join(parent, 'data'), join(parent, 'copy')]
    const original = await PostgresServer.open({ dataFolder, password: 'secret' })
    await original.stop('fast')
    execFileSync('cp', ['-a', dataFolder, copy])
    await original.start()
    execFileSync('cp', ['-a', join(dataFolder, 'postmaster.pid'), copy])

    const second = await PostgresServer.open({ dataFolder: copy, password: 'secret' })

    await second.close()
    await original.close()
  })

  it.skipIf(process.getuid?.() !== 0)('reports that its user may not enter the folder (as root only)', async () => {
    chmodSync(parent, 0o700)

    await assert.rejects(
      PostgresServer.open({ dataFolder: join(parent, 'data') }),
      /could not make its data in .*, as the user "\w+", who has to be able to enter it/,
    )
  })
})

describe('a standby of a PostgreSQL', () => {
  let primary: PostgresServer

  beforeAll(async () => {
    primary = await PostgresServer.open({ parentFolder: memoryFolder() })
    await primary.query('create table written as select generate_series(1, 1000) as n')
  })

  afterAll(() => primary.close())

  it('is created while the primary is in use, follows it, and has every commit when promoted if it is synchronous', async () => {
    let isWriting = true
    const writing = withClient(primary.url(), async (client) => {
      for (let n = 1_001; isWriting; n += 1) await client.query('insert into written values ($1)', [n])
    })
    const standby = await primary.openStandby({ name: 'anna' })
    isWriting = false
    await writing
    await primary.reload({ synchronous_standby_names: 'anna' })
    const count = 'select count(*)::int as count, pg_is_in_recovery() as is_standby from written'

    await primary.query('insert into written values (0)')
    const [sync] = await primary.query('select application_name as name, sync_state as state from pg_stat_replication')
    const [written] = await primary.query<{ count: number }>(count)
    await standby.catchUpWith(primary)
    const [followed] = await standby.query(count)
    await primary.killNine()
    await standby.promote()
    const [promoted] = await standby.query(count)
    await standby.query('insert into written values (-1)')
    await standby.close()

    assert.deepEqual(sync, { name: 'anna', state: 'sync' })
    assert.deepEqual(followed, { count: written!.count, is_standby: true })
    assert.deepEqual(promoted, { count: written!.count, is_standby: false })
  })
})
