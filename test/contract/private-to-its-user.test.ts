import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it, onTestFinished } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { NuncioProcess, type ServiceSettings } from '../support/black-box/nuncio-process.ts'
import { openTestFolder } from '../support/black-box/test-folder.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

const OPEN_TO_ALL = 0o755
const DEBUGGER = /debugger|inspector/i

describe('the files of a running service, in a folder that all users of the machine may enter', () => {
  it('are private to its user as soon as they are created', async () => {
    const { dataDir, service, cli } = await place()
    await service.start()

    await cli.run('backup', join(dataDir, 'backups'))

    assert.deepEqual(openToOthers(dataDir), [])
    assert.ok(globSync('nuncio.db-shm', { cwd: dataDir }).length > 0, 'the database is open')
    assert.ok(globSync('backups/*/nuncio.db', { cwd: dataDir }).length > 0, 'a backup was made')
  })

  it('become private at the next start, which reports that', async () => {
    const { dataDir, service } = await place()
    await service.start()
    mkdirSync(join(dataDir, 'spool', 'x'), { recursive: true })
    await service.killNine()
    for (const path of allIn(dataDir)) chmodSync(path, OPEN_TO_ALL)

    await service.start()

    // It answers requests shortly before it opens its database.
    await waitUntil('all are private', async () => openToOthers(dataDir).length === 0, { deadlineMs: 10_000 })
    assert.match(service.log, /Other users of this machine could use files of Nuncio/)
  })
})

describe('the signal that opens the debugger of Node', () => {
  it('does nothing to a service', async () => {
    const { service } = await place()
    await service.start()

    service.signal('SIGUSR1')

    assert.equal(await service.isAlive(), true)
    await service.stop()
    assert.doesNotMatch(service.log, DEBUGGER)
  })

  it('does nothing to any of several processes', async () => {
    const database = await openTestDatabase()
    onTestFinished(() => database.drop())
    const environment = { NUNCIO_DATABASE_URL: database.url }
    const { service } = await place({ environment, serveArguments: ['--processes', '2'] })
    await service.start()
    const children = childrenOf(service.pid)

    for (const pid of [service.pid, ...children]) process.kill(pid, 'SIGUSR1')

    assert.equal(children.length, 2)
    assert.equal(await service.isAlive(), true)
    await service.stop()
    assert.doesNotMatch(service.log, DEBUGGER)
  })

  it('does nothing to a command', async () => {
    const { dataDir, service } = await place()
    await service.start()
    const list = join(dataDir, 'list')
    execFileSync('mkfifo', [list])
    const command = spawn(process.execPath, [nuncioMain, 'recipient', 'block', '--file', list], {
      env: nuncioEnvironment(dataDir),
    })
    const said = text(command.stderr)
    // Opens as soon as the command reads the other end.
    const input = await open(list, 'w')

    command.kill('SIGUSR1')
    await input.writeFile('15551234567\n')
    await input.close()
    await once(command, 'close')

    assert.doesNotMatch(await said, DEBUGGER)
  })
})

describe('Node’s cache of compiled code', () => {
  const USER = process.geteuid?.()

  it('is used in a folder that only its user can write to', async () => {
    const { temporary, cli } = temporaryPlace()

    await cli.run('config')

    const [name = '', ...others] = readdirSync(temporary)
    assert.deepEqual([name, others], [`nuncio-compile-cache-${USER}`, []])
    assert.equal(lstatSync(join(temporary, name)).mode & 0o077, 0)
    assert.ok(globSync('*/*/*', { cwd: temporary }).length > 0)
  })

  it('is neither written nor read in a folder that others can write to', async () => {
    const { temporary, cli } = temporaryPlace()
    const folder = join(temporary, `nuncio-compile-cache-${USER}`)
    mkdirSync(folder)
    chmodSync(folder, 0o777)

    const { code } = await cli.run('config')

    assert.deepEqual([code, readdirSync(folder)], [0, []])
  })

  function temporaryPlace() {
    const folder = openTestFolder()
    onTestFinished(() => folder.remove())
    const temporary = join(folder.path, 'temporary')
    mkdirSync(temporary, { mode: 0o700 })
    const places = { dataDir: join(folder.path, 'data'), workDir: folder.path }
    return { temporary, cli: new NuncioCli({ ...places, environment: { TMPDIR: temporary } }) }
  }
})

interface Place {
  readonly dataDir: string
  readonly service: NuncioProcess
  readonly cli: NuncioCli
}

async function place(more: Partial<ServiceSettings> = {}): Promise<Place> {
  const folder = openTestFolder()
  onTestFinished(() => folder.remove())
  const dataDir = join(folder.path, 'data')
  mkdirSync(dataDir)
  chmodSync(dataDir, OPEN_TO_ALL)
  const places = { dataDir, workDir: folder.path }
  const service = new NuncioProcess({
    ...places,
    ...more,
    port: await findFreePort(),
    onStart: (pid) => folder.remember(pid),
  })
  onTestFinished(() => service.stop())
  return { dataDir, service, cli: new NuncioCli(places) }
}

function allIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
}

function openToOthers(folder: string): string[] {
  // A draft may have been renamed meanwhile.
  return allIn(folder).filter((path) => ((lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0)
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}
