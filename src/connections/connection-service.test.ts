import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { testSecrets } from '../../test/support/secrets.ts'
import type { AccountId, ConnectionId } from '../core/ids.ts'
import type { ChannelOnboarding } from '../core/ports/channel-onboarding.ts'
import type { ConnectionService, StoredConnection } from '../core/ports/connection-service.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import { Refusal } from '../core/refusals.ts'
import { createConnectionService } from './connection-service.ts'

const ACME = 'acc-acme' as AccountId
const OTHERS = 'acc-others' as AccountId
const APP_SECRET = '0123456789abcdef0123456789abcdef'
const NEW_APP_SECRET = 'fedcba9876543210fedcba9876543210'
const TOKEN = 'EAAtokenOfTheSystemUser'
const PAIRS = {
  phone_number_id: '1001',
  business_account_id: '2001',
  access_token: TOKEN,
  app_secret: APP_SECRET,
  verify_token: 'a-word-of-ours',
}

/** A network that admits every caller with the token, and records its calls. */
class PaperNetwork implements ChannelOnboarding {
  readonly asked: Readonly<Record<string, unknown>>[] = []
  token = TOKEN
  answers: Promise<void> = Promise.resolve()
  /** The ids of numbers that are of another app than the one whose secret is asked about. */
  readonly ofAnotherApp = new Set<unknown>()
  /** It sends callbacks only to those that are at least as fast. */
  reportsFrom = 0
  /** What is asked about these is never answered. */
  readonly silent = new Set<unknown>()

  async prove({ settings }: Parameters<ChannelOnboarding['prove']>[0]) {
    this.asked.push(settings)
    await this.answers
    if (settings['accessToken'] !== this.token)
      throw new Refusal('connection_not_proven', 'The access token is wrong.', 'access_token')
    return {
      networkKey: String(settings['phoneNumberId']),
      facts: [{ label: 'Name', value: 'Acme', tone: 'plain' as const }],
      settings: { ...settings, throughputPerSecond: 80 },
    }
  }

  async listTemplates(settings: Readonly<Record<string, unknown>>) {
    this.asked.push(settings)
    return []
  }

  async takesCallbackSecret(settings: Readonly<Record<string, unknown>>) {
    this.asked.push(settings)
    if (this.silent.has(settings['phoneNumberId'])) await new Promise(() => {})
    return settings['accessToken'] === this.token && !this.ofAnotherApp.has(settings['phoneNumberId'])
  }

  callbackSecretOf(settings: Readonly<Record<string, unknown>>) {
    if (Number(settings['throughputPerSecond'] ?? this.reportsFrom) < this.reportsFrom) return null
    return typeof settings['appSecret'] === 'string' ? settings['appSecret'] : null
  }
}

let network: PaperNetwork
let secrets: Secrets
let connectionService: ConnectionService
let stored: StoredConnection[]

const others = async () => stored

async function add(pairs: Readonly<Record<string, string>> = {}, accountId = ACME, number = '15550001000') {
  const wanted = { accountId, number, channel: 'whatsapp-cloud', pairs: { ...PAIRS, ...pairs } }
  const { id, channelSettings, link } = await connectionService.prepareNew(wanted, others)
  const connection = { id, accountId, number, channel: 'whatsapp-cloud', channelSettings, link }
  stored.push(connection)
  return connection
}

async function change(connection: StoredConnection, pairs: Readonly<Record<string, string>>) {
  const prepared = await connectionService.prepareChange(connection, pairs, others)
  const { channelSettings, link } = prepared
  const changed = { ...connection, channelSettings, link }
  const replace = (id: ConnectionId, by: StoredConnection) => {
    stored = stored.map((one) => (one.id === id ? by : one))
  }
  const storeOthers = () => {
    for (const other of prepared.alongside)
      replace(other.connection.id, {
        ...other.connection,
        channelSettings: other.channelSettings,
        link: other.link,
      })
  }
  return { ...prepared, changed, storeOthers, storeIt: () => replace(connection.id, changed) }
}

function opened({ id, accountId, channelSettings }: StoredConnection, name: string): string {
  return secrets.open(String(channelSettings[name]), { purpose: 'connection', accountId, owner: id, name })
}

beforeEach(() => {
  network = new PaperNetwork()
  secrets = testSecrets()
  stored = []
  connectionService = createConnectionService({
    onboardings: new Map([['whatsapp-cloud', async () => network]]),
    openSecrets: async () => secrets,
    publicUrl: 'https://nuncio.example',
    answersWithinMs: 50,
  })
})

describe('a new connection', () => {
  it('is proven before it is, and its secrets are stored sealed for it alone', async () => {
    const connection = await add()
    const other = { ...connection, id: 'con-other' as ConnectionId }

    assert.equal(connection.link?.networkKey, '1001')
    assert.deepEqual([network.asked.length, network.asked[0]?.['accessToken']], [1, TOKEN])
    const text = JSON.stringify(connection)
    for (const secret of [TOKEN, APP_SECRET, PAIRS.verify_token]) assert.ok(!text.includes(secret), secret)
    assert.deepEqual(
      ['accessToken', 'appSecret', 'verifyToken'].map((name) => opened(connection, name)),
      [TOKEN, APP_SECRET, PAIRS.verify_token],
    )
    assert.throws(() => opened(other, 'accessToken'), { name: 'Error' })
    assert.equal(connection.channelSettings['throughputPerSecond'], 80)
  })

  it('is refused without asking the network while a setting is missing or wrong', async () => {
    await assert.rejects(add({ app_secret: ' ', verify_token: '' }), {
      code: 'setting_invalid',
      field: 'app_secret',
      message: 'A connection of WhatsApp Cloud needs app_secret, verify_token as well.',
    })
    await assert.rejects(add({ phone_number_id: '+1 555' }), { code: 'setting_invalid', field: 'phone_number_id' })
    const sealed = secrets.seal(TOKEN, { purpose: 'connection', accountId: OTHERS, owner: 'x', name: 'accessToken' })
    await assert.rejects(add({ access_token: sealed }), { code: 'setting_invalid', field: 'access_token' })

    assert.equal(network.asked.length, 0)
  })

  it('is refused with what the network says, or that it says nothing in time', async () => {
    await assert.rejects(add({ access_token: 'EAAanotherTokenThatIsWrong' }), {
      code: 'connection_not_proven',
      field: 'access_token',
    })
    network.answers = new Promise(() => {})

    await assert.rejects(add(), { code: 'network_unreachable' })
    assert.deepEqual(stored, [])
  })

  it('shares its address for callbacks with others of the account that have the app secret, also when added at once', async () => {
    const [first, second] = await Promise.all([add(), add({ phone_number_id: '1002' })])
    const third = await add({ phone_number_id: '1003' })
    const ofAnotherApp = await add({ phone_number_id: '1004', app_secret: NEW_APP_SECRET })
    const ofOthers = await add({ phone_number_id: '1005' }, OTHERS)

    const app = first.link?.callbackApp ?? ''
    assert.match(app, /^[0-9A-Za-z]{22}$/)
    assert.deepEqual([second.link?.callbackApp, third.link?.callbackApp], [app, app])
    assert.equal(new Set([app, ofAnotherApp.link?.callbackApp, ofOthers.link?.callbackApp]).size, 3)
    assert.deepEqual(connectionService.callbackOf({ ...first, lastReportAt: null }), {
      url: `https://nuncio.example/channels/whatsapp-cloud/${app}`,
      problem: null,
      lastReportAt: null,
    })
  })

  it.each([
    ['http://nuncio.example', /https only/],
    ['https://localhost:8443', /the machine itself/],
    ['https://127.0.0.1', /the machine itself/],
  ])('says that callbacks cannot come to %s, until one has come', async (publicUrl, problem) => {
    const reached = createConnectionService({ onboardings: new Map(), openSecrets: async () => secrets, publicUrl })

    const connection = await add()
    const problemAfter = (lastReportAt: number | null) => reached.callbackOf({ ...connection, lastReportAt })?.problem

    assert.match(problemAfter(null) ?? '', problem)
    assert.equal(problemAfter(1), null)
  })

  it('of the sandbox needs no network and no key ring', async () => {
    const without = createConnectionService({
      onboardings: new Map(),
      openSecrets: () => Promise.reject(new Error('There is none')),
      publicUrl: 'http://127.0.0.1:8080',
    })
    const wanted = { accountId: ACME, number: '15550001000', channel: 'sandbox', pairs: { latency: '1s' } }

    const { channelSettings, link, facts } = await without.prepareNew(wanted, others)

    assert.deepEqual([channelSettings, link, facts], [{ latencyMs: 1_000 }, null, []])
    assert.deepEqual(without.abilitiesOf('sandbox'), {
      hasCallbacks: false,
      hasTemplates: false,
      isLinkedDevice: false,
    })
  })
})

describe('asking the network', () => {
  it('returns what it says otherwise than is stored, to be stored while nothing else was changed', async () => {
    const connection = await add()
    const same = await connectionService.check(connection, others)
    const slower = { ...connection, channelSettings: { ...connection.channelSettings, throughputPerSecond: 20 } }

    const { facts, change } = await connectionService.check(slower, others)

    assert.deepEqual([same.change, facts.length], [null, 1])
    assert.deepEqual(change, { channelSettings: connection.channelSettings, expected: slower.channelSettings })
  })

  it('gives an address to one that reports from now on', async () => {
    const connection = await add()
    const unlinked = {
      ...connection,
      channelSettings: { ...connection.channelSettings, throughputPerSecond: 20 },
      link: { networkKey: '1001', callbackApp: null },
    }
    network.reportsFrom = 80

    const { change } = await connectionService.check(unlinked, async () => [])

    assert.deepEqual(change?.link, connection.link)
  })

  it('G8: many times at once keeps no other account waiting', async () => {
    const [ours, theirs] = [await add(), await add({ phone_number_id: '1002' }, OTHERS)]
    const before = network.asked.length
    const { promise, resolve } = Promise.withResolvers<void>()
    network.answers = promise
    const flood = Array.from({ length: 20 }, () => connectionService.check(ours, others))
    const single = connectionService.check(theirs, others)
    await new Promise((done) => {
      setImmediate(done)
    })

    assert.deepEqual(
      network.asked.slice(before).map((settings) => settings['phoneNumberId']),
      ['1001', '1001', '1001', '1001', '1002'],
    )
    resolve()
    assert.equal((await single).facts.length, 1)
    await Promise.all(flood)
    assert.equal(network.asked.length, before + 21)
  })
})

describe('a change', () => {
  it('keeps what is not named as it is, and proves with the stored secrets', async () => {
    const connection = await add()

    const { changed, facts } = await change(connection, { graph_version: 'v25.0' })

    assert.deepEqual([facts?.length, network.asked.length], [1, 2])
    assert.deepEqual([network.asked[1]?.['accessToken'], network.asked[1]?.['graphVersion']], [TOKEN, 'v25.0'])
    for (const name of ['accessToken', 'appSecret', 'verifyToken'])
      assert.equal(changed.channelSettings[name], connection.channelSettings[name])
    assert.deepEqual(changed.link, connection.link)
  })

  it('of a switch alone does not ask the network, and keeps what the network reported', async () => {
    const connection = await add()
    network.token = 'none'

    const { changed, facts } = await change(connection, { link_preview: 'off' })

    assert.equal(facts, null)
    assert.equal(network.asked.length, 1)
    assert.deepEqual(changed.channelSettings, { ...connection.channelSettings, linkPreview: false })
  })

  it('of a secret seals the new one, after the network took it', async () => {
    const connection = await add()
    const wrong = 'EAAanotherTokenThatIsWrong'
    await assert.rejects(change(connection, { access_token: wrong }), { code: 'connection_not_proven' })
    network.token = wrong

    const { changed } = await change(connection, { access_token: wrong })

    assert.equal(opened(changed, 'accessToken'), wrong)
    assert.equal(changed.channelSettings['appSecret'], connection.channelSettings['appSecret'])
    assert.ok(!JSON.stringify(changed).includes(wrong))
  })

  it('cannot take a required setting back', async () => {
    const connection = await add()

    await assert.rejects(change(connection, { access_token: '' }), { code: 'setting_invalid', field: 'access_token' })
  })

  it('G8: of the app secret goes to all connections that share the address, and to no other', async () => {
    const first = await add()
    const second = await add({ phone_number_id: '1002' })
    const apart = await add({ phone_number_id: '1003', app_secret: '00112233445566778899aabbccddeeff' })
    // As storage never would: this tests that the account is checked again.
    const foreign = { ...(await add({ phone_number_id: '1004' }, OTHERS)), link: second.link }
    stored = [first, second, apart, foreign]

    const { changed, alongside } = await change(first, { app_secret: NEW_APP_SECRET })

    assert.deepEqual(
      alongside.map(({ connection }) => connection.id),
      [second.id],
    )
    const its = { ...second, channelSettings: alongside[0]?.channelSettings ?? {} }
    assert.deepEqual([opened(its, 'appSecret'), opened(its, 'accessToken')], [NEW_APP_SECRET, TOKEN])
    assert.deepEqual([changed.link, alongside[0]?.link], [first.link, second.link])
  })

  it('of the app secret leaves those alone from which the network does not take it, and says so', async () => {
    const first = await add()
    const [along, stays] = [
      await add({ phone_number_id: '1002' }, ACME, '15550001002'),
      await add({ phone_number_id: '1003' }, ACME, '15550001003'),
    ]
    const broken = {
      ...(await add({ phone_number_id: '1004' }, ACME, '15550001004')),
      channelSettings: { ...stays.channelSettings, phoneNumberId: '1004' },
    }
    stored = [first, along, stays, broken]
    network.ofAnotherApp.add('1003')

    const { changed, alongside, notChanged, storeOthers, storeIt } = await change(first, { app_secret: NEW_APP_SECRET })
    storeOthers()
    storeIt()

    assert.deepEqual(
      alongside.map(({ connection }) => connection.id),
      [along.id],
    )
    assert.deepEqual(notChanged, ['15550001003', '15550001004'])
    const [, its, theirs] = stored
    assert.deepEqual(
      [its, theirs].map((one) => one && opened(one, 'appSecret')),
      [NEW_APP_SECRET, APP_SECRET],
    )
    // All at one address still, where both secrets verify callbacks.
    assert.deepEqual([changed.link?.callbackApp, its?.link], [stays.link?.callbackApp, along.link])
  })

  it('of the app secret waits for no neighbour longer than for the network', async () => {
    const first = await add()
    for (let id = 1100; id < 1150; id += 1) await add({ phone_number_id: String(id) }, ACME, String(15550001000 + id))
    network.silent.add('1120')

    const { alongside, notChanged } = await change(first, { app_secret: NEW_APP_SECRET })

    assert.deepEqual([alongside.length, notChanged], [49, ['15550002120']])
  })

  it('of the app secret that stopped in the middle is made whole by making it again', async () => {
    const first = await add()
    await add({ phone_number_id: '1002' })
    const stopped = await change(first, { app_secret: NEW_APP_SECRET })
    stopped.storeOthers()
    const third = await add({ phone_number_id: '1003', app_secret: NEW_APP_SECRET })

    const again = await change(first, { app_secret: NEW_APP_SECRET })
    again.storeOthers()
    again.storeIt()

    assert.deepEqual(new Set(stored.map((one) => opened(one, 'appSecret'))), new Set([NEW_APP_SECRET]))
    assert.deepEqual(new Set(stored.map(({ link }) => link?.callbackApp)), new Set([third.link?.callbackApp]))
  })

  it('to the app secret of others joins their address, because the network has only one for an app', async () => {
    const first = await add()
    const mistaken = await add({ phone_number_id: '1002', app_secret: NEW_APP_SECRET })

    const { changed, alongside } = await change(mistaken, { app_secret: APP_SECRET })

    assert.deepEqual([changed.link?.callbackApp, alongside], [first.link?.callbackApp, []])
  })

  it('replaces a secret that cannot be read any more', async () => {
    const connection = await add()
    const broken = {
      ...connection,
      channelSettings: {
        ...connection.channelSettings,
        accessToken: `v1.kffffffff.${'A'.repeat(16)}.AAAA.${'A'.repeat(22)}`,
      },
    }
    // The value must have the form of a sealed one, or this test checks something else.
    assert.ok(secrets.isSealed(broken.channelSettings.accessToken))

    await assert.rejects(connectionService.check(broken, others), { code: 'setting_invalid', field: 'access_token' })
    const { changed } = await change(broken, { access_token: TOKEN })

    assert.equal(opened(changed, 'accessToken'), TOKEN)
  })
})
