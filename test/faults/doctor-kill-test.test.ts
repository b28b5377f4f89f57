import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/read-settings.ts'
import type { Finding } from '../../src/operations/doctor/finding.ts'
import { killAgainAndAgain } from '../../src/operations/doctor/kill-test/kill-again-and-again.ts'
import { checkFigures } from '../../src/operations/doctor/kill-test/run-kill-test.ts'
import { ServiceChild } from '../../src/operations/doctor/kill-test/service-child.ts'
import { makeTestPlace } from '../../src/operations/doctor/kill-test/test-place.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger } from '../support/journey/engines.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'
import { readRounds } from './run-length.ts'

const rounds = readRounds({ brief: 2, quick: 1 })

interface Answer {
  readonly findings: readonly Finding[]
}

describe.each(ENGINES)('the kill test of doctor on $name', ({ openSettings }) => {
  it('G1 G2 G3: kills the real service, and finds nothing lost, duplicated or out of order', async () => {
    const dataDir = temporaryFolder()
    const environment = await openSettings()
    const before = await listDatabases(environment)

    const { code, stdout, stderr } = await new CliOn(dataDir, environment).run(
      ...['doctor', '--offline', '--kill-test', '--rounds', String(rounds), '--json'],
    )

    const [test] = (JSON.parse(stdout) as Answer).findings.filter(({ check }) => check === 'kill test')
    assert.equal(test?.status, 'ok', `${stdout}${stderr}`)
    assert.equal(code, 0, stdout)
    const { acknowledged, delivered, unconfirmed, lost, doubled, outOfOrder } = test.facts
    assert.deepEqual([lost, doubled, outOfOrder], [0, 0, 0])
    assert.ok(Number(acknowledged) > 10 * rounds, stdout)
    assert.equal(Number(delivered) + Number(unconfirmed), acknowledged)
    assert.match(stderr, new RegExp(`round ${rounds} of ${rounds}`))
    assert.deepEqual(readdirSync(dataDir), [])
    assert.deepEqual(await listDatabases(environment), before)
  })
})

describe('the kill test of doctor', () => {
  it('says how a user on PostgreSQL gets the right to create the database for the kill test', async () => {
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
    assert.match(stdout, /PROBLEM kill test .*may not make a database.*createdb/)
  })

  it('leaves nothing behind when it is interrupted', async () => {
    const dataDir = temporaryFolder()
    const child = spawn(process.execPath, [nuncioMain, 'doctor', '--offline', '--kill-test', '--rounds', '20'], {
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

// Each of these makes the real service break a promise without noticing it.
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

describe('the kill test of doctor, with a service that breaks a promise', () => {
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
    const service = new ServiceChild(nuncioMain, place)
    onTestFinished(() => service.close())

    const figures = await killAgainAndAgain({
      place,
      service,
      rounds: 1,
      signal: new AbortController().signal,
      onProgress: () => {},
    })

    assert.ok(figures.ledger[finds] > 0, JSON.stringify(figures))
    assert.equal(checkFigures(figures).status, 'problem')
  })
})

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
