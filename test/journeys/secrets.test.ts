import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished, vi } from 'vitest'
import type { Settings } from '../../src/config/read-settings.ts'
import { KeyRing } from '../../src/secrets/key-ring.ts'
import { KeyRingFile } from '../../src/secrets/key-ring-file.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger, readAllRows, readRows } from '../support/journey/engines.ts'
import { startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

// Opens thousands of connections, and several processes seal their secrets again one after another.
vi.setConfig({ testTimeout: 240_000 })

// Enough to fill some pages of the database.
const PEOPLE = Array.from({ length: 60 }, (_, at) => `per_${10 + at}`)
// Two for each person, and the canary.
const SEALED = 2 * PEOPLE.length + 1
const CONNECTIONS = 3_000
const SIX_MINUTES_MS = 6 * 60_000

interface Ring {
  readonly file: string
  readonly isRotating: boolean
  readonly keys: readonly { id: string; state: string; secrets: number }[]
}

/** All bytes that a copy of the database contains. */
async function dump(database: Settings['database']): Promise<Buffer> {
  if (database.engine === 'sqlite') {
    const files = ['', '-wal'].map((end) => database.path + end)
    const inside = new Set(readdirSync(join(database.path, '..')).map((name) => join(database.path, '..', name)))
    return Buffer.concat(files.filter((file) => inside.has(file)).map((file) => readFileSync(file)))
  }
  return Buffer.from((await readAllRows(database)).join('\n'))
}

/** How many of the secrets a copy contains, in the form in which either engine writes them. */
function countIn(bytes: Buffer, secrets: readonly Buffer[]): number {
  return secrets.filter((secret) => bytes.includes(secret) || bytes.includes(secret.toString('hex'))).length
}

function secretOf(personId: string): Buffer {
  return createHash('sha1').update(`in use by ${personId}`).digest()
}

function begunSecretOf(personId: string): Buffer {
  return createHash('sha1').update(`begun by ${personId}`).digest()
}

/** Adds people with an authenticator app, and a second one that they are setting up. */
async function addPeople(database: Settings['database'], ring: KeyRing): Promise<void> {
  const bytes = (secret: Buffer, owner: string) => {
    const place = { purpose: 'second-factor', accountId: null, owner, name: 'totp' } as const
    const hex = Buffer.from(ring.seal(secret.toString('latin1'), place)).toString('hex')
    return database.engine === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'`
  }
  const people = PEOPLE.map((id) => `('${id}', '${id}@example.org', '${id}@example.org', 'Anna', 1)`)
  const factors = PEOPLE.map((id) => `('${id}', ${bytes(secretOf(id), id)}, 1, ${bytes(begunSecretOf(id), id)})`)
  const stranger = await openStranger(database)
  await stranger.run(`insert into person (id, email, email_key, name, created_at) values ${people.join()}`)
  await stranger.run(`insert into totp (person_id, secret, confirmed_at, begun_secret) values ${factors.join()}`)
  await stranger.close()
}

function ringIn(dataDir: string): KeyRing {
  return new KeyRing(new KeyRingFile(join(dataDir, 'keys', 'key-ring.json')))
}

/** Adds connections with one sealed secret each. */
async function addConnections(database: Settings['database'], ring: KeyRing, count: number): Promise<void> {
  const stranger = await openStranger(database)
  const [account] = await stranger.run('select id from account')
  const accountId = String(account?.['id'])
  const rows = Array.from({ length: count }, (_, at) => {
    const [id, number] = [`con_${at}`, String(15_560_000_000 + at)]
    const accessToken = ring.seal(`token ${at}`, { purpose: 'connection', accountId, owner: id, name: 'accessToken' })
    return `('${id}', '${accountId}', '${number}', 'sandbox', 'active', '{}', '${JSON.stringify({ accessToken })}', 1)`
  })
  await stranger.run(`insert into connection
    (id, account_id, number, channel, state, policy, channel_settings, created_at) values ${rows.join()}`)
  await stranger.close()
}

describe.each(ENGINES)('secrets on $name', ({ openSettings }) => {
  it('are sealed in every copy of the database, and no copy has the key ring', async () => {
    const [dataDir, settings] = [temporaryFolder(), await openSettings()]
    const nuncio = await startNuncio({ dataDir, settings })
    const made = await new CliOn(dataDir, settings).json<{ secret: string }>(
      ...['webhook', 'add', 'https://example.org/', '--notice', 'message.failed'],
    )
    const while_ = await dump(nuncio.database)
    await nuncio.stop()
    const after = await dump(nuncio.database)

    const secrets = [made.secret, made.secret.replace('whsec_', ''), ringIn(dataDir).keys.sealsWith.export()]
    assert.deepEqual(
      [while_, after].map((copy) =>
        countIn(
          copy,
          secrets.map((secret) => Buffer.from(secret)),
        ),
      ),
      [0, 0],
    )
    // Shows that the copy contains the row.
    assert.equal(countIn(after, [Buffer.from('https://example.org/')]), 1)
  })

  it('are sealed with a new key by commands while the service runs', async () => {
    const [dataDir, settings] = [temporaryFolder(), await openSettings()]
    const running = await startNuncio({ dataDir, settings })
    await addPeople(running.database, ringIn(dataDir))
    const cli = new CliOn(dataDir, settings)
    const before = await cli.json<Ring>('secrets', 'list')
    const added = await cli.json<{ id: string; isNew: boolean }>('secrets', 'add-key')
    const rotated = await cli.run('secrets', 'rotate')
    const table = await cli.run('secrets', 'list')
    const after = await cli.json<Ring>('secrets', 'list')
    const tooSoon = await cli.run('secrets', 'remove-key', before.keys[0]!.id)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + SIX_MINUTES_MS })
    const dropped = await cli.run('secrets', 'remove-key', before.keys[0]!.id)
    vi.useRealTimers()

    assert.deepEqual(
      before.keys.map(({ state, secrets }) => [state, secrets]),
      [['current', SEALED]],
    )
    assert.equal(added.isNew, true)
    assert.match(rotated.stdout, new RegExp(`^${SEALED - 1} secrets were sealed anew\\. .* the key ${added.id} now\\.`))
    assert.deepEqual(
      after.keys.map(({ id, secrets }) => [id, secrets]),
      [
        [before.keys[0]!.id, 0],
        [added.id, SEALED],
      ],
    )
    assert.match(table.stdout, /^KEY +MADE +STATE +SECRETS\n.* old +0\n.* seals +\d+\n\nThe key ring lies in \//)
    assert.match(tooSoon.stderr, /may still store a secret .*\(key_in_use\)$/m)
    assert.equal(dropped.code, 0, dropped.stderr)
    // Both the service that has run all the time and one that starts now continue.
    const sent = await running.text('15551234567', 'still there')
    await running.reaches(sent.messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    const restarted = await running.restart()
    assert.equal((await restarted.text('15551234567', 'again')).status, 200)
    const ring = new KeyRingFile(join(dataDir, 'keys', 'key-ring.json')).read()
    assert.deepEqual(
      ring.keys.map(({ id }) => id),
      [added.id],
    )
  })

  it('are complete after rotations that were killed in the middle and one that finished', async () => {
    const [dataDir, settings] = [temporaryFolder(), await openSettings()]
    const nuncio = await startNuncio({ dataDir, settings })
    await nuncio.stop()
    const file = new KeyRingFile(join(dataDir, 'keys', 'key-ring.json'))
    const ring = new KeyRing(file)
    const old = ring.keys.sealsWith.id
    await addConnections(nuncio.database, ring, CONNECTIONS)
    const countOld = async () => {
      const [row] = await readRows(
        nuncio,
        `select count(*) as left from connection where channel_settings like '%v1.${old}.%'`,
      )
      return Number(row?.['left'])
    }
    const left = [CONNECTIONS]
    for (let kill = 0; kill < 2; kill += 1) {
      const before = left.at(-1) ?? 0
      const child = spawn(process.execPath, [nuncioMain, 'secrets', 'rotate'], {
        env: nuncioEnvironment(dataDir, settings),
        stdio: 'ignore',
      })
      await waitUntil('some are sealed anew', async () => (await countOld()) < before, {
        deadlineMs: 30_000,
        everyMs: 1,
      })
      child.kill('SIGKILL')
      await once(child, 'exit')
      left.push(await countOld())
    }
    const cli = new CliOn(dataDir, settings)
    const between = await cli.json<Ring>('secrets', 'list')
    const rotated = await cli.json<{ secrets: number; unreadable: unknown[] }>('secrets', 'rotate')
    const after = await cli.json<Ring>('secrets', 'list')

    assert.ok(left[0]! > left[1]! && left[1]! > left[2]! && left[2]! > 0, `they were not killed in the middle: ${left}`)
    assert.deepEqual([between.isRotating, after.isRotating], [true, false])
    assert.deepEqual([rotated.secrets, rotated.unreadable], [left[2], []])
    assert.deepEqual(
      after.keys.map(({ secrets }) => secrets),
      [0, CONNECTIONS + 1],
    )
    const rows = await readRows(
      nuncio,
      `select id, account_id, channel_settings from connection where id like 'con%' and number like '1556%'`,
    )
    ring.readAgain()
    for (const { id, account_id, channel_settings } of rows) {
      const { accessToken } = JSON.parse(String(channel_settings)) as { accessToken: string }
      const place = {
        purpose: 'connection',
        accountId: String(account_id),
        owner: String(id),
        name: 'accessToken',
      } as const
      assert.equal(ring.open(accessToken, place), `token ${String(id).slice(4)}`)
    }
    assert.equal(rows.length, CONNECTIONS)
  })

  it.each([
    ['missing', (file: string) => rmSync(file), 'key_ring_missing'],
    ['that of another installation', anotherRing, 'key_ring_foreign'],
    ['damaged', (file: string) => writeFileSync(file, '{}'), 'key_ring_unusable'],
  ])('keep the service from starting with one sentence when the key ring is %s', async (_, spoil, code) => {
    const [dataDir, settings] = [temporaryFolder(), await openSettings()]
    await (await startNuncio({ dataDir, settings })).stop()
    const file = join(dataDir, 'keys', 'key-ring.json')
    copyFileSync(file, `${file}.kept`)
    spoil(file)
    const environment = { ...settings, NUNCIO_PORT: '0' }
    const cli = new NuncioCli({ dataDir, workDir: dataDir, environment })
    const commands = [['serve'], ['secrets', 'list'], ['secrets', 'rotate']]
    const answers = await Promise.all(commands.map((command) => cli.run(...command)))
    // Commands that need no secret need no key ring.
    const accounts = await cli.json<unknown[]>('account', 'list')
    rmSync(file, { force: true })
    renameSync(`${file}.kept`, file)
    await startNuncio({ dataDir, settings })

    for (const { code: ended, stdout, stderr } of answers) {
      assert.deepEqual([ended, stdout, stderr.trimEnd().split('\n').length], [1, '', 1], stderr)
      assert.match(stderr, new RegExp(`^nuncio: .*key-ring\\.json.*\\(${code}\\)$`, 'm'))
    }
    assert.equal(accounts.length, 1)
  })
})

describe('a key ring that others may read', () => {
  it('is refused by commands, gets private permissions at a start, and is then used by commands', async () => {
    const dataDir = temporaryFolder()
    await (await startNuncio({ dataDir })).stop()
    chmodSync(join(dataDir, 'keys', 'key-ring.json'), 0o644)
    const cli = new NuncioCli({ dataDir, workDir: dataDir })
    const service = new NuncioProcess({ dataDir, workDir: dataDir, port: await findFreePort() })
    onTestFinished(() => service.stop())

    const refused = await cli.run('secrets', 'list')
    await service.start()
    const taken = await cli.run('secrets', 'list')

    assert.match(refused.stderr, /chmod 600 .*\(key_ring_unusable\)$/m)
    assert.match(service.log, /Other users of this machine could use files of Nuncio/)
    assert.equal(taken.code, 0, taken.stderr)
  })
})

function anotherRing(file: string): void {
  rmSync(file)
  new KeyRingFile(file).make(Date.now())
}

describe('several machines on one PostgreSQL', () => {
  it('get sealed secrets from SQLite with a copy, and also need the key ring', async () => {
    const database = await openTestDatabase()
    onTestFinished(database.drop)
    const dataDir = temporaryFolder()
    const first = await startNuncio({ dataDir })
    await first.stop()
    await addPeople(first.database, ringIn(dataDir))
    const settings = { NUNCIO_DATABASE_URL: database.url }
    const copied = await new CliOn(dataDir, settings).run('copy')
    const here = await new CliOn(dataDir, settings).json<Ring>('secrets', 'list')
    const elsewhere = await new CliOn(temporaryFolder(), settings).run('secrets', 'list')

    assert.match(copied.stdout, /the key ring .*keys\/key-ring\.json goes with it/)
    assert.deepEqual(
      here.keys.map(({ state, secrets }) => [state, secrets]),
      [['current', SEALED]],
    )
    assert.match(elsewhere.stderr, /\(key_ring_missing\)$/m)
  })

  it('start together with a key ring each: one serves, the other says what to do, and then serves too', async () => {
    const database = await openTestDatabase()
    const workDir = temporaryFolder()
    const machines = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const dataDir = join(workDir, name)
        const environment = { NUNCIO_DATABASE_URL: database.url }
        return new NuncioProcess({ dataDir, workDir, name, port: await findFreePort(), environment })
      }),
    )
    try {
      for (const machine of machines) machine.spawn()
      const ended = await Promise.race(machines.map(async (machine) => machine.ending.then(() => machine)))
      const [winner, loser] = machines[0] === ended ? [machines[1]!, ended] : [machines[0]!, ended]
      await waitUntil('the other one serves', () => winner.isAlive(), { deadlineMs: 30_000, everyMs: 50 })

      assert.match(loser.log, /^nuncio: .*key ring.* copy it from another machine .*\(key_ring_(foreign|missing)\)$/m)
      const ringOf = ({ settings }: NuncioProcess) => join(settings.dataDir, 'keys', 'key-ring.json')
      mkdirSync(join(loser.settings.dataDir, 'keys'), { recursive: true })
      rmSync(ringOf(loser), { force: true })
      copyFileSync(ringOf(winner), ringOf(loser))
      await loser.start()
    } finally {
      await Promise.all(machines.map((machine) => machine.stop()))
      await database.drop()
    }
  })

  it('create one key ring if they are several processes on one machine', async () => {
    const database = await openTestDatabase()
    const workDir = temporaryFolder()
    const service = new NuncioProcess({
      dataDir: join(workDir, 'data'),
      workDir,
      port: await findFreePort(),
      environment: { NUNCIO_DATABASE_URL: database.url },
      serveArguments: ['--processes', '2'],
    })
    try {
      await service.start()
      assert.deepEqual(readdirSync(join(workDir, 'data', 'keys')), ['key-ring.json'])
    } finally {
      await service.stop()
      await database.drop()
    }
  })
})
