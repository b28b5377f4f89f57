import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { ROOT } from '../../../scripts/source-tree.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { nuncioEnvironment, nuncioMain } from '../../support/black-box/nuncio-environment.ts'
import { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { ENGINES, openStranger, type Stranger } from '../../support/journey/engines.ts'

let folder: string
let dataDir: string
let cli: NuncioCli

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-cli-'))
  dataDir = join(folder, 'data')
  cli = new NuncioCli({ dataDir, workDir: folder })
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe.each(ENGINES)('the command line as a process on $name', ({ block, openSettings }) => {
  let environment: Readonly<Record<string, string>>

  beforeEach(async () => {
    environment = await openSettings()
    cli = new NuncioCli({ dataDir, workDir: folder, environment })
  })

  function beside(): Promise<Stranger> {
    const { settings } = readSettings({ environment: { NUNCIO_DATA_DIR: dataDir, ...environment }, envFile: {} })
    assert.ok(settings)
    return openStranger(settings.database)
  }

  it('leads from nothing to a token, and lists what it created', async () => {
    const early = await cli.run('account', 'list')
    await cli.json('account', 'create', 'Acme')
    const connection = await cli.json<{ id: string }>('connection', 'add', '15550001000', '--channel', 'sandbox')
    const { token } = await cli.json<{ token: string }>('token', 'create', '--name', 'shop', '--expires', '30d')

    assert.equal(early.code, 1)
    assert.match(early.stderr, /^nuncio: There is no(?:thing in the)? database at .* \(database_unavailable\)\n$/)
    assert.match(token, /^nco_[0-9A-Za-z]{38}$/)
    assert.deepEqual(
      (await cli.json<{ id: string }[]>('connection', 'list')).map(({ id }) => id),
      [connection.id],
    )
    const table = await cli.run('connection', 'list')
    assert.match(
      table.stdout,
      /^NUMBER +NAME +ACCOUNT +CHANNEL +STATE +WAITING +OLDEST +STANDS STILL BECAUSE\n15550001000 /,
    )
  })

  it('waits for another writer, and others see its changes at once', async () => {
    await cli.json('account', 'create', 'Acme')
    await cli.json('token', 'create', '--name', 'shop', '--expires', '7d')
    const service = await beside()
    await service.run(block)

    const deleting = cli.json('token', 'delete', 'shop')
    await promisify(setTimeout)(700)
    await service.run('rollback')
    await deleting

    const [row] = await service.run('select deleted_at from token')
    assert.ok(Number(row?.['deleted_at']) > 0)
    await service.close()
  })

  it('shows what the sandbox delivered, in order, including a second delivery', async () => {
    await cli.json('account', 'create', 'Acme')
    const { id } = await cli.json<{ id: string }>('connection', 'add', '15550001000', '--channel', 'sandbox')
    const service = await beside()
    const value = {
      to: '15550100000',
      type: 'message',
      text: 'Hello',
      caption: null,
      name: null,
      sizeBytes: null,
      sha256: null,
    }
    const json = JSON.stringify({ ...value, mime: null, path: null })
    const rows = ['m-2#1', 'm-1#1', 'm-1#2'].map((key) => `('sandbox.inbox', '${id}', '${key}', '${json}', 0)`)
    await service.run(`insert into channel_memory (kind, connection_id, key, value, at) values ${rows.join()}`)
    await service.close()

    const entries = await cli.json<{ messageId: string }[]>('sandbox', 'inbox', '--connection', '15550001000')
    const elsewhere = await cli.run('sandbox', 'inbox', '--connection', '15550001001')

    assert.deepEqual(
      entries.map(({ messageId }) => messageId),
      ['m-2', 'm-1', 'm-1'],
    )
    assert.deepEqual(entries[0], {
      messageId: 'm-2',
      connection: '15550001000',
      ...value,
      deliveredAt: '1970-01-01T00:00:00.000Z',
    })
    assert.match(elsewhere.stderr, /connection_unknown/)
  })
})

describe('the command line as a process', () => {
  it('reads a .env file in its folder, and the environment comes first', async () => {
    writeFileSync(join(folder, '.env'), 'NUNCIO_PORT=9000\nNUNCIO_LOG_LEVEL=debug\nNUNCIO_PROT=1\n')

    const { code, stdout, stderr } = await cli.run('config')

    assert.equal(code, 0)
    assert.match(stdout, /NUNCIO_PORT +9000 +\.env file/)
    assert.match(stdout, /NUNCIO_LOG_LEVEL +warn +environment/)
    assert.match(stderr, /NUNCIO_PROT \(\.env file\) is no setting .* Did you mean NUNCIO_PORT\?/)
  })

  it('refuses to serve with wrong settings, and names all of them at once', async () => {
    writeFileSync(join(folder, '.env'), 'NUNCIO_PORT=x\nNUNCIO_DATABASE_URL=postgres://anna:hunter2@db\n')

    const { code, stdout, stderr } = await cli.run('serve')

    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /NUNCIO_PORT .*setting_invalid\)\n.*NUNCIO_DATABASE_URL .*it names no database/)
    assert.doesNotMatch(stderr, /hunter2/)
  })

  it('names the line of a fault in the sources although a build runs', async () => {
    const broken = 'Date.now = () => { throw new Error("no clock") }'

    const { stderr } = await promisify(execFile)(
      process.execPath,
      ['--import', `data:text/javascript,${broken}`, nuncioMain, 'token', 'create', '--name', 'a', '--expires', '3d'],
      { cwd: folder, env: nuncioEnvironment(dataDir, { NUNCIO_LOG_LEVEL: 'debug' }) },
    ).catch((error: unknown) => error as { readonly stderr: string })

    const [, line] = /at now \(src\/cli\/environment\.ts:(\d+):\d+\)/.exec(stderr) ?? []
    const source = readFileSync(join(ROOT, 'src/cli/environment.ts'), 'utf8').split('\n')
    assert.match(source[Number(line) - 1] ?? stderr, /now: \(\) => Date\.now\(\)/)
  })

  it('serves without loading the HTTP client of Node, which takes 10 MB', async () => {
    const report = `process.on('exit', () => {
      const names = process.moduleLoadList.filter((name) => /_http_server|undici/.test(name))
      process.stderr.write(JSON.stringify(names))
    })`
    const program = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(report)}`, nuncioMain]
    const service = new NuncioProcess({ dataDir, port: await findFreePort(), workDir: folder, program })
    await service.start()

    await service.stop()

    assert.match(service.log, /\["NativeModule _http_server"\]$/)
  })

  it('ends quietly when its reader has gone', async () => {
    const command = `'${process.execPath}' '${nuncioMain}' config --json | true`

    const { stderr } = await promisify(execFile)('sh', ['-c', command], {
      cwd: folder,
      env: nuncioEnvironment(dataDir),
    })

    assert.equal(stderr, '')
  })
})
