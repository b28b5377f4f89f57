import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished, vi } from 'vitest'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, type Engine, readAllRows, readRows, settingsOf } from '../support/journey/engines.ts'
import type { Journey } from '../support/journey/start-nuncio.ts'
import { startSimulator } from '../support/whatsapp-cloud/simulator.ts'
import type { SimulatedNumber, Simulator } from '../support/whatsapp-cloud/simulator-types.ts'

const TOKEN = 'EAAG0000000000tokenOfTheSystemUser'
const APP_SECRET = '0123456789abcdef0123456789abcdef'
const NEW_APP_SECRET = 'fedcba9876543210fedcba9876543210'
const VERIFY_TOKEN = 'a-word-of-ours'
const SECRETS = [TOKEN, APP_SECRET, NEW_APP_SECRET, VERIFY_TOKEN]
const NUMBER = '15550003001'
const OTHER_NUMBER = '15550003002'
const TO = '15551234567'

interface ConnectionService {
  readonly nuncio: Journey
  readonly cli: CliOn
  readonly simulator: Simulator
  /** Every line of the service's log. */
  readonly log: readonly string[]
  /** What the command line has printed so far. */
  said(): string
  add(number: string, phoneNumberId: string, change?: Readonly<Record<string, string>>): Promise<Added>
}

interface Added {
  readonly code: number
  readonly stderr: string
  readonly callbackUrl: string
}

function numberAt(phoneNumberId: string, number: string): SimulatedNumber {
  const known = { businessAccountId: '2001', accessToken: TOKEN, appSecret: APP_SECRET, verifyToken: VERIFY_TOKEN }
  return { phoneNumberId, number, ...known }
}

async function open({ start }: Engine): Promise<ConnectionService> {
  const simulator = await startSimulator()
  onTestFinished(() => simulator.close())
  simulator.addNumber(numberAt('1001', NUMBER))
  simulator.addNumber(numberAt('1002', OTHER_NUMBER))
  const settings = { NUNCIO_WHATSAPP_CLOUD_URL: simulator.url }
  const log: string[] = []
  const nuncio = await start({ settings, onLog: (line) => log.push(line) })
  const { dataDir } = nuncio
  const cli = new CliOn(dataDir, { ...settings, ...settingsOf(nuncio), NUNCIO_PUBLIC_URL: nuncio.url })
  let said = ''
  const file = (name: string, text: string) => {
    const path = join(dataDir, name)
    writeFileSync(path, `${text}\n`)
    return `@${path}`
  }
  return {
    nuncio,
    cli,
    simulator,
    log,
    said: () => said,
    async add(number, phoneNumberId, { account, ...change } = {}) {
      const pairs: Record<string, string> = {
        phone_number_id: phoneNumberId,
        business_account_id: '2001',
        access_token: file('token', TOKEN),
        app_secret: file('app-secret', APP_SECRET),
        verify_token: file('verify-token', VERIFY_TOKEN),
        ...change,
      }
      const settings = Object.entries(pairs).flatMap(([name, text]) => ['--set', `${name}=${text}`])
      const more = account === undefined ? [] : ['--account', account]
      const { code, stdout, stderr } = await cli.run(
        ...['connection', 'add', number, '--channel', 'whatsapp-cloud', '--json', ...settings, ...more],
      )
      said += stdout + stderr
      const callback = code === 0 ? (JSON.parse(stdout) as { callback: { url: string } }).callback : null
      return { code, stderr, callbackUrl: callback?.url ?? '' }
    },
  }
}

function send({ nuncio }: ConnectionService, from: string, text: string) {
  return nuncio.post({ from, to: TO, message: { type: 'message', message: text } })
}

describe.each(ENGINES)('connecting a number of a network, on $name', (engine) => {
  it('lets it send at once, and the reports of the network arrive', async () => {
    const world = await open(engine)
    const { callbackUrl } = await world.add(NUMBER, '1001')
    world.simulator.deliverCallbacks({ url: callbackUrl })

    const { messageId } = await send(world, NUMBER, 'Hello')

    await world.nuncio.reaches(messageId, 'READ')
    assert.deepEqual(
      world.simulator.sent.map(({ from, waId, text }) => [from, waId, text]),
      [[NUMBER, TO, 'Hello']],
    )
  })

  it('stores nothing that was not verified', async () => {
    const world = await open(engine)
    const refusals = [
      await world.add(NUMBER, '1001', { access_token: 'EAAG0000000000anotherToken' }),
      await world.add(NUMBER, '1002'),
      await world.add(NUMBER, '1001', { app_secret: NEW_APP_SECRET }),
    ]
    await world.simulator.close()
    refusals.push(await world.add(NUMBER, '1001'))

    assert.deepEqual(
      refusals.map(({ code, stderr }) => [code, /\((\w+)\)\n$/.exec(stderr)?.[1]]),
      [
        [1, 'connection_not_proven'],
        [1, 'connection_not_proven'],
        [1, 'connection_not_proven'],
        [1, 'network_unreachable'],
      ],
    )
    const connections = await world.nuncio.operator.administration.listConnections(null)
    assert.ok(connections.every(({ channel }) => channel !== 'whatsapp-cloud'))
  })

  it('G8: gives a number of the network to one connection of the installation, even if two are added at once', async () => {
    const world = await open(engine)
    await world.cli.run('account', 'create', 'Acme')
    await world.cli.run('account', 'create', 'Others')

    const both = await Promise.all(['Acme', 'Others'].map((account) => world.add(NUMBER, '1001', { account })))
    const loser = both.find(({ code }) => code !== 0)
    const again = await world.add(NUMBER, '1001', { account: both[0] === loser ? 'Acme' : 'Others' })

    assert.deepEqual(
      both.map(({ code }) => code).toSorted((one, other) => one - other),
      [0, 1],
    )
    for (const refused of [loser, again]) {
      assert.match(refused?.stderr ?? '', /\(network_key_taken\)\n$/)
      // The sentence is the same for every owner, and contains no names.
      assert.doesNotMatch(refused?.stderr ?? '', /Acme|Others|con_/)
    }
    const rows = await readRows(world.nuncio, `select count(*) as n from connection where network_key = '1001'`)
    assert.equal(Number(rows[0]?.['n']), 1)
  })

  it('uses one callback URL for the numbers of an app, even if they are added at once', async () => {
    const world = await open(engine)
    const added = await Promise.all([world.add(NUMBER, '1001'), world.add(OTHER_NUMBER, '1002')])
    const [url, otherUrl] = added.map(({ callbackUrl }) => callbackUrl)
    assert.equal(url, otherUrl)
    world.simulator.deliverCallbacks({ url: url ?? '' })

    for (const from of [NUMBER, OTHER_NUMBER]) {
      const { messageId } = await send(world, from, `From ${from}`)
      await world.nuncio.reaches(messageId, 'READ')
    }
  })

  it('takes a new app secret for all numbers of the app, and verifies callbacks with it from then on', async () => {
    const world = await open(engine)
    const { callbackUrl } = await world.add(NUMBER, '1001')
    await world.add(OTHER_NUMBER, '1002')
    world.simulator.deliverCallbacks({ url: callbackUrl })
    await world.nuncio.reaches((await send(world, NUMBER, 'before')).messageId, 'READ')
    for (const id of ['1001', '1002']) world.simulator.changeNumber(id, { appSecret: NEW_APP_SECRET })

    world.cli.input = `${NEW_APP_SECRET}\n`
    const changed = await world.cli.run('connection', 'set', OTHER_NUMBER, 'app_secret=@-')

    assert.equal(changed.code, 0, changed.stderr)
    assert.match(changed.stdout, new RegExp(`changed for ${NUMBER} too`))
    for (const from of [NUMBER, OTHER_NUMBER])
      await world.nuncio.reaches((await send(world, from, 'after')).messageId, 'READ')
  })

  it('deletes the secrets with the connection, and frees the number', async () => {
    const world = await open(engine)
    await world.add(NUMBER, '1001')
    assert.match(JSON.stringify(await readRows(world.nuncio, 'select channel_settings from connection')), /v1\.k/)

    const removed = await world.cli.run('connection', 'remove', NUMBER)

    assert.equal(removed.code, 0, removed.stderr)
    const left = await readRows(world.nuncio, `select channel_settings from connection where state = 'removed'`)
    assert.equal(left.length, 1)
    assert.doesNotMatch(JSON.stringify(left), /v1\.k/)
    assert.equal((await world.add(NUMBER, '1001')).code, 0)
  })

  it('leaves no secret in the database, the log, or any output', async () => {
    const world = await open(engine)
    const { callbackUrl } = await world.add(NUMBER, '1001')
    world.simulator.deliverCallbacks({ url: callbackUrl })
    await world.nuncio.reaches((await send(world, NUMBER, 'Hello')).messageId, 'READ')
    // Words of the network are stored when a secret is wrong at the time of sending.
    for (const id of ['1001', '1002']) world.simulator.changeNumber(id, { accessToken: 'EAAG0000000000anotherToken' })
    const { messageId } = await send(world, NUMBER, 'Hello again')
    await vi.waitFor(async () => assert.notEqual((await world.nuncio.timeline(messageId)).laneWait, null), 30_000)
    const checked = await world.cli.run('connection', 'check', NUMBER)
    const listed = await world.cli.run('connection', 'list')

    assert.match(checked.stderr, /\(connection_not_proven\)\n$/)
    const everything = {
      database: (await readAllRows(world.nuncio.database)).join('\n'),
      log: world.log.join('\n'),
      said: world.said() + checked.stdout + checked.stderr + listed.stdout,
    }
    for (const [where, text] of Object.entries(everything)) {
      assert.ok(text.length > 100, `${where} holds nothing to scan`)
      for (const secret of SECRETS) assert.ok(!text.includes(secret), `a secret in ${where}`)
    }
    // Shows that the search above covers the place where secrets are stored.
    assert.match(everything.database, /v1\.k/)
  })
})
