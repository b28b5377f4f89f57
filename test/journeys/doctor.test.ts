import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import type { Finding } from '../../src/app/doctor/finding.ts'
import { killAgainAndAgain } from '../../src/app/doctor/kill-test/kill-again-and-again.ts'
import { judgeFigures } from '../../src/app/doctor/kill-test/run-kill-test.ts'
import { ServiceChild } from '../../src/app/doctor/kill-test/service-child.ts'
import { makeTestPlace } from '../../src/app/doctor/kill-test/test-place.ts'
import { readSettings } from '../../src/config/read-settings.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger, readRows, settingsOf } from '../support/journey/engines.ts'
import { startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

interface Answer {
  readonly standing: string
  readonly findings: readonly Finding[]
}

function of(answer: Answer, check: string): readonly Finding[] {
  return answer.findings.filter((finding) => finding.check === check)
}

/** What people see, and what else must not change by being looked at. */
const COUNTED = `select (select count(*) from audit) as audits, (select count(*) from account) as accounts,
  (select count(*) from worker) as workers, (select count(*) from migration) as migrations`

describe.each(ENGINES)('doctor on $name', ({ start, openSettings }) => {
  it('finds a running service well, and changes nothing', async () => {
    const journey = await start()
    const settings = settingsAt(journey)
    const before = await readRows(journey, COUNTED)
    const files = readdirSync(journey.dataDir).toSorted()

    const answer = await new CliOn(journey.dataDir, settings).json<Answer>('doctor', '--offline')

    assert.deepEqual(
      answer.findings.filter(({ standing }) => standing === 'trouble'),
      [],
    )
    assert.match(of(answer, 'service')[0]?.sentence ?? '', /runs at .* and is ready/)
    assert.deepEqual(
      of(answer, 'key ring').map(({ standing }) => standing),
      ['ok'],
    )
    assert.deepEqual(await readRows(journey, COUNTED), before)
    assert.deepEqual(readdirSync(journey.dataDir).toSorted(), files)
  })

  it('looks at data that nobody serves, and at a hold', async () => {
    const journey = await start()
    const settings = settingsAt(journey)
    const cli = new CliOn(journey.dataDir, settings)
    await cli.run('hold', '--because', 'a look at the disks')
    await journey.stop()

    const answer = await cli.json<Answer>('doctor', '--offline')

    assert.match(of(answer, 'service')[0]?.sentence ?? '', /No service runs, and port \d+ is free/)
    assert.match(of(answer, 'attention')[0]?.sentence ?? '', /All lanes are held.*a look at the disks/)
    assert.equal(answer.standing, 'warning')
  })

  it('says what a start would make where there is nothing yet, and makes nothing', async () => {
    const dataDir = join(temporaryFolder(), 'data')
    const cli = new CliOn(dataDir, { ...(await openSettings()), NUNCIO_PORT: '0' })

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 0, stdout)
    assert.match(stdout, /the first start makes/)
    assert.throws(() => readdirSync(dataDir), /ENOENT/)
  })

  it('G1 G2 G3: kills the real service, and finds nothing lost, doubled or out of order', async () => {
    const dataDir = temporaryFolder()
    const environment = await openSettings()
    const before = await listDatabases(environment)

    const { code, stdout, stderr } = await new CliOn(dataDir, environment).run(
      ...['doctor', '--offline', '--kill-test', '--rounds', '2', '--json'],
    )

    const [test] = of(JSON.parse(stdout) as Answer, 'kill test')
    assert.equal(test?.standing, 'ok', `${stdout}${stderr}`)
    assert.equal(code, 0, stdout)
    const { acknowledged, delivered, unconfirmed, lost, doubled, outOfOrder } = test.facts
    assert.deepEqual([lost, doubled, outOfOrder], [0, 0, 0])
    assert.ok(Number(acknowledged) > 20, stdout)
    assert.equal(Number(delivered) + Number(unconfirmed), acknowledged)
    assert.match(stderr, /round 2 of 2/)
    assert.deepEqual(readdirSync(dataDir), [])
    assert.deepEqual(await listDatabases(environment), before)
  })
})

describe('doctor', () => {
  it('tells of every wrong setting and looks at what it can all the same', async () => {
    const cli = new CliOn(temporaryFolder(), { NUNCIO_PORT: 'http', NUNCIO_PROT: '8080' })

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /TROUBLE settings .*NUNCIO_PORT/)
    assert.match(stdout, /warning settings .*NUNCIO_PROT/)
    assert.match(stdout, /skipped database/)
    assert.match(stdout, /ok +disk/)
    assert.match(stdout, /What to do:/)
  })

  it('finds a program of somebody else on the port', async () => {
    const other = await startNuncio()
    const { port } = new URL(other.url)
    const cli = new CliOn(temporaryFolder(), { NUNCIO_PORT: port })
    // It is a Nuncio, but holds other data; only its pages tell, so that is taken for ours.
    const ours = await cli.json<Answer>('doctor', '--offline')
    assert.match(of(ours, 'service')[0]?.sentence ?? '', /runs/)

    const { createServer } = await import('node:http')
    const stranger = createServer((_, reply) => void reply.end('hello')).listen(0, '127.0.0.1')
    onTestFinished(() => void stranger.close())
    await once(stranger, 'listening')
    const address = stranger.address()
    const taken = new CliOn(temporaryFolder(), { NUNCIO_PORT: String(typeof address === 'object' && address?.port) })

    const { code, stdout } = await taken.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /TROUBLE service +Another program answers/)
  })

  it('finds a damaged database and a key ring that is gone', async () => {
    const journey = await startNuncio()
    const settings = settingsAt(journey)
    await journey.stop()
    const { renameSync } = await import('node:fs')
    renameSync(join(journey.dataDir, 'keys'), join(journey.dataDir, 'elsewhere'))
    const cli = new CliOn(journey.dataDir, settings)

    const { code, stdout } = await cli.run('doctor', '--offline')

    assert.equal(code, 1)
    assert.match(stdout, /TROUBLE key ring .*no key ring/)
    assert.throws(() => readdirSync(join(journey.dataDir, 'keys')), /ENOENT/)
  })

  it('refuses rounds without a kill test', async () => {
    const { code, stderr } = await new CliOn(temporaryFolder()).run('doctor', '--rounds', '3')

    assert.equal(code, 2)
    assert.match(stderr, /--rounds belongs to --kill-test/)
  })

  it('says how to let a user on PostgreSQL make a database for the kill test', async () => {
    const { url, drop } = await openTestDatabase()
    onTestFinished(drop)
    const stranger = await openStranger({ engine: 'postgres', url, listenUrl: url, migrateUrl: url })
    const role = `doctor_${Date.now()}`
    await stranger.run(`create role ${role} login password 'short'; grant all on schema public to ${role}`)
    onTestFinished(async () => {
      const again = await openStranger({ engine: 'postgres', url, listenUrl: url, migrateUrl: url })
      await again.run(`drop owned by ${role}; drop role ${role}`)
      await again.close()
    })
    await stranger.close()
    const own = new URL(url)
    own.username = role
    own.password = 'short'

    const { code, stdout } = await new CliOn(temporaryFolder(), { NUNCIO_DATABASE_URL: own.href }).run(
      ...['doctor', '--offline', '--kill-test', '--rounds', '1'],
    )

    assert.equal(code, 1)
    assert.match(stdout, /TROUBLE kill test .*may not make a database.*createdb/)
  })

  it('leaves nothing behind when somebody ends the kill test', async () => {
    const dataDir = temporaryFolder()
    const child = spawn(process.execPath, [nuncioMain, 'doctor', '--offline', '--kill-test', '--rounds', '900'], {
      cwd: dataDir,
      env: nuncioEnvironment(dataDir),
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stdout.on('data', (bytes: Buffer) => {
      said += String(bytes)
    })
    const ended = once(child, 'close')
    await new Promise<void>((resolve) => {
      let progress = ''
      child.stderr.on('data', (bytes: Buffer) => {
        progress += String(bytes)
        if (progress.includes('round 1 of')) resolve()
      })
    })

    child.kill('SIGINT')

    const [code] = await ended
    assert.equal(code, 1)
    assert.match(said, /interrupted/)
    assert.deepEqual(readdirSync(dataDir), [])
  })
})

// Each makes the real service, unknown to it, do what it must never do.
const TAMPERED = [
  {
    does: 'loses what it said it had delivered',
    sql: `create trigger tampered after insert on channel_memory when new.kind = 'sandbox.inbox' and new.rowid % 7 = 0
      begin update channel_memory set value = 'null' where rowid = new.rowid; end`,
    finds: 'lost',
  },
  {
    does: 'delivers twice',
    sql: `create trigger tampered after insert on channel_memory
      when new.kind = 'sandbox.inbox' and new.rowid % 7 = 0 and new.key not like '%#99'
      begin insert into channel_memory (connection_id, kind, key, value, at)
        values (new.connection_id, new.kind, new.key || '#99', new.value, new.at); end`,
    finds: 'doubled',
  },
] as const

describe('the kill test', () => {
  it.each(TAMPERED)('notices a service that $does', async ({ sql, finds }) => {
    const dataDir = temporaryFolder()
    mkdirSync(dataDir, { recursive: true })
    const { settings } = readSettings({ environment: { NUNCIO_DATA_DIR: dataDir }, envFile: {} })
    assert.ok(settings)
    const place = await makeTestPlace(settings, 4)
    onTestFinished(place.remove)
    const database = new DatabaseSync(join(place.settings.dataDir, 'nuncio.db'))
    database.exec(sql)
    database.close()
    const service = new ServiceChild(place.folder, place.environment)
    onTestFinished(() => service.close())

    const figures = await killAgainAndAgain({
      place,
      service,
      rounds: 1,
      signal: AbortSignal.timeout(100_000),
      onProgress: () => {},
    })

    assert.ok(figures.ledger[finds] > 0, JSON.stringify(figures))
    assert.equal(judgeFigures(figures).standing, 'trouble')
  })
})

/** With the port at which the service is looked for. */
function settingsAt(journey: Awaited<ReturnType<typeof startNuncio>>): Record<string, string> {
  return { NUNCIO_PORT: new URL(journey.url).port, ...settingsOf(journey) }
}

async function listDatabases(environment: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const url = environment['NUNCIO_DATABASE_URL']
  if (url === undefined) return []
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>(
      `select datname from pg_database where datname like 'nuncio_kill_test_%'`,
    )
    return rows.map(({ datname }) => datname)
  } finally {
    await client.end()
  }
}
