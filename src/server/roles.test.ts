import assert from 'node:assert/strict'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, it, onTestFinished } from 'vitest'
import { waitUntil } from '../../test/support/black-box/wait-until.ts'
import { postTo, SENDER, temporaryFolder } from '../../test/support/journey/start-nuncio.ts'
import { readSettings } from '../config/read-settings.ts'
import { DEFAULT_LANE_POLICY } from '../core/connection/lane-policy.ts'
import type { ConnectionId, MessageId, WorkerId } from '../core/ids.ts'
import type { Administration } from '../core/ports/administration.ts'
import type { Channel, Handover } from '../core/ports/channel.ts'
import { createToken, tokenPrefix } from '../core/token/token-format.ts'
import { KeyRingFile } from '../secrets/key-ring-file.ts'
import { openKeyRing } from '../secrets/open-key-ring.ts'
import { StorageHealth } from '../storage/queries/storage-health.ts'
import { SqliteStorage } from '../storage/sqlite/index.ts'
import { openAdministration } from '../storage/sqlite/queries/open-administration.ts'
import { Application } from './application.ts'
import { systemClock } from './system-clock.ts'
import type { Storage, StorageEvents, StorageOptions } from './wiring/storage.ts'

const DEADLINE = { deadlineMs: 30_000, everyMs: 10 }

/**
 * One database that several processes serve, as PostgreSQL is: SQLite, with one face for each process. What a process
 * notifies the others reaches them at once, unless they are deaf.
 */
class SharedStorage {
  readonly notified: ConnectionId[] = []
  readonly opened: StorageOptions[] = []
  isDeaf = false
  isWritable = true
  closed = 0
  readonly sqlite: SqliteStorage
  readonly #events: StorageEvents[] = []

  constructor(path: string) {
    this.sqlite = new SqliteStorage({
      path,
      clock: systemClock,
      limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
      sendable: () => this.opened[0]?.sendable() ?? [],
      onBroken: () => {},
      onError: () => {},
    })
  }

  open(options: StorageOptions): Storage {
    this.opened.push(options)
    const { sqlite } = this
    return {
      intake: sqlite.intake,
      lanes: sqlite.lanes,
      blocked: sqlite.blocked,
      mediaQueue: sqlite.mediaQueue,
      notices: sqlite.notices,
      watch: sqlite.watch,
      retention: sqlite.retention,
      sessions: sqlite.sessions,
      clock: sqlite.clock,
      // So that nothing moves by itself, but only after a notification.
      pollEveryMs: 3_600_000,
      channelState: (channel) => sqlite.channelState(channel),
      channelConnections: (channel) => sqlite.channelConnections(channel),
      sendAgain: (failed) => sqlite.sendAgain(failed),
      isEmpty: () => sqlite.isEmpty(),
      hasPeople: () => sqlite.hasPeople(),
      readKeyFacts: () => sqlite.readKeyFacts(),
      start: async (events) => void this.#events.push(events),
      notifyPeers: (ids) => {
        this.notified.push(...ids)
        if (!this.isDeaf) for (const { lanesWoken } of this.#events) lanesWoken(ids)
      },
      acceptingProcesses: () => 1,
      isWritable: async () => this.isWritable,
      health: new StorageHealth(systemClock),
      waiting: () => sqlite.waiting(),
      figures: () => sqlite.figures(),
      close: async () => {
        this.closed += 1
      },
    }
  }
}

class TextOnlyChannel implements Channel {
  readonly name = 'text-only'
  readonly capabilities = {
    types: ['message'] as const,
    maxTextLength: null,
    maxCaptionLength: null,
    recognisesRepeat: false,
    evidenceWaitMs: 60_000,
    callBudgetMs: 30_000,
  }
  starts = 0
  stops = 0
  readonly sent: MessageId[] = []

  parseSettings() {
    return {}
  }
  async start() {
    this.starts += 1
  }
  async stop() {
    this.stops += 1
  }
  async send({ messageId }: Handover) {
    this.sent.push(messageId)
    return { kind: 'accepted' as const, networkId: 'network-1' }
  }
  async reconcile() {
    return { kind: 'nothing-ever' as const }
  }
}

let shared: SharedStorage
let administration: Administration
let token: string
let connectionId: ConnectionId
let keyRingFile: string

beforeEach(async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'nuncio.db')
  keyRingFile = join(folder, 'key-ring.json')
  shared = new SharedStorage(path)
  const visitor = openAdministration(path, { create: false, now: () => Date.now() })
  onTestFinished(async () => {
    visitor.close()
    await shared.sqlite.close()
  })
  administration = visitor.administration
  const secretStore = visitor.openSecretStore()
  await openKeyRing({
    file: new KeyRingFile(keyRingFile),
    facts: await secretStore.readKeyFacts(),
    withStore: (work) => work(secretStore),
    now: Date.now(),
  })
  const { id: accountId } = await administration.createAccount('Acme', 'test')
  const wanted = { accountId, number: SENDER, channel: 'text-only', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
  connectionId = (await administration.addConnection(wanted, 'test')).id
  token = createToken((count) => new Uint8Array(count).fill(7))
  await administration.createToken(
    {
      accountId,
      name: 'test',
      events: ['messaging.send_message'],
      expiresAt: Date.now() + 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(token))),
      prefix: tokenPrefix(token),
    },
    'test',
  )
})

/** A process with these roles. */
async function start(roles: string) {
  const { settings } = readSettings({
    environment: {
      NUNCIO_DATABASE_URL: 'postgres://missing@nowhere.invalid/nuncio',
      NUNCIO_DATA_DIR: temporaryFolder(),
      NUNCIO_KEY_RING_FILE: keyRingFile,
      NUNCIO_PORT: '0',
      NUNCIO_ROLES: roles,
    },
    envFile: {},
  })
  assert.ok(settings)
  const channel = new TextOnlyChannel()
  const nuncio = new Application({
    settings,
    logger: pino({ level: 'silent' }),
    onBroken: () => {},
    channels: [channel],
    openStorage: async (_, options) => shared.open(options),
  })
  onTestFinished(() => nuncio.stop())
  const { url, first } = await nuncio.start()
  return { nuncio, channel, url, first }
}

function text(url: string) {
  const message = { type: 'message', message: 'Hello' }
  return postTo(url, token, { body: { from: SENDER, to: '15551234567', message }, headers: {} })
}

async function ready(url: string) {
  const response = await fetch(`${url}/health/ready`)
  return { status: response.status, body: await response.json() }
}

async function stateOf(messageId: string): Promise<string> {
  return (await administration.explainMessage(messageId as MessageId)).message.state
}

const TAKES_NONE = 'This process takes no messages: it runs without the role `api`. Send to a process that has it.'

describe('a process with the role api alone', () => {
  it('takes messages, notifies the others, sends nothing, and starts no channel', async () => {
    const { url, channel, nuncio } = await start('api')

    const { status, messageId } = await text(url)
    await nuncio.stop()

    assert.equal(status, 200)
    assert.deepEqual(shared.notified, [connectionId])
    assert.equal(await stateOf(messageId), 'QUEUED')
    assert.deepEqual([channel.starts, channel.stops], [0, 0])
    assert.deepEqual(shared.sqlite.database.prepare('select id from worker').all(), [])
  })

  it('still knows what each channel can send', async () => {
    const { url } = await start('api')
    const message = { type: 'image', media: { name: 'a.png', url: 'https://example.com/a.png' } }

    const reply = await postTo(url, token, { body: { from: SENDER, to: '15551234567', message }, headers: {} })

    assert.equal(reply.status, 400)
    assert.equal(reply.body.data.errors?.[0]?.code, 'type_unsupported_by_channel')
  })

  it('is ready though it does not dispatch, and not when nothing can be stored', async () => {
    const { url } = await start('api')

    const well = await ready(url)
    shared.isWritable = false
    const unwell = await ready(url)

    assert.deepEqual(well, { status: 200, body: { status: 'ready' } })
    assert.deepEqual(unwell, { status: 503, body: { status: 'not_ready', problems: ['storage'] } })
  })
})

describe('a process with the role dispatch alone', () => {
  it('takes no messages: the endpoint is not there, but health and metrics are', async () => {
    const { url, first } = await start('dispatch')

    const { status, body } = await text(url)
    const openapi = await fetch(`${url}/openapi.json`)
    const metrics = await fetch(`${url}/metrics`)

    assert.deepEqual([status, body.code, body.data.errors?.[0]?.code], [404, 'HC-6', 'route_not_found'])
    assert.equal(body.data.errors?.[0]?.message, TAKES_NONE)
    assert.deepEqual([openapi.status, metrics.status], [404, 200])
    assert.deepEqual(await ready(url), { status: 200, body: { status: 'ready' } })
    assert.equal(first, null)
  })

  it('sends what another process accepted as soon as it is notified', async () => {
    const dispatching = await start('dispatch')
    const accepting = await start('api')

    const { messageId } = await text(accepting.url)
    await waitUntil('it is published', async () => (await stateOf(messageId)) === 'PUBLISHED', DEADLINE)

    assert.deepEqual([dispatching.channel.sent, accepting.channel.sent], [[messageId], []])
    assert.equal(dispatching.channel.starts, 1)
  })

  it('does not send it before its next poll without a notification', async () => {
    const { nuncio, channel } = await start('dispatch')
    const accepting = await start('api')
    shared.isDeaf = true

    const { messageId } = await text(accepting.url)
    await nuncio.stop()

    assert.deepEqual([channel.sent, await stateOf(messageId)], [[], 'QUEUED'])
  })
})

describe('a process with several roles', () => {
  it('sends what it accepted itself, and notifies no other process', async () => {
    const { url, channel } = await start('api,dispatch')

    const { messageId } = await text(url)
    await waitUntil('it is published', async () => (await stateOf(messageId)) === 'PUBLISHED', DEADLINE)

    assert.deepEqual([channel.sent, shared.notified], [[messageId], []])
  })

  it('identifies itself when it opens the storage', async () => {
    await start('dispatch,api')

    const [options] = shared.opened
    assert.match(options?.worker.id ?? '', /^worker-[0-9a-f-]{36}$/)
    assert.equal(options?.worker.pid, process.pid)
    assert.deepEqual(options?.worker.roles, ['api', 'dispatch'])
    assert.match(options?.worker.version ?? '', /^\d+\.\d+\.\d+$/)
    assert.notEqual(options?.worker.host, '')
  })

  it('takes no messages and sends none with the role console alone', async () => {
    const { url, channel } = await start('console')

    const { status, body } = await text(url)

    assert.deepEqual([status, body.data.errors?.[0]?.message], [404, TAKES_NONE])
    assert.equal((await ready(url)).status, 200)
    assert.equal(channel.starts, 0)
    // For the form of the documents that tries a call.
    assert.equal((await fetch(`${url}/openapi.json`)).status, 200)
  })

  it('serves the console only where it has that role', async () => {
    const asked = async ({ url }: { url: string }) => {
      const answers = await Promise.all(['/console/api/me', '/console/'].map((path) => fetch(url + path)))
      return answers.map(({ status }) => status)
    }

    const [me, page] = await asked(await start('console'))
    assert.equal(me, 401)
    // Whether its pages were built is another matter.
    assert.ok(page === 200 || page === 503)
    assert.deepEqual(await asked(await start('api,dispatch')), [404, 404])
  })

  it('can be stopped while it starts, twice, and before it starts', async () => {
    const { nuncio } = await start('api,dispatch')
    await Promise.all([nuncio.stop(), nuncio.stop()])

    assert.equal(shared.closed, 1)
    assert.deepEqual(await shared.sqlite.lanes.heartbeat('worker-last' as WorkerId, 15_000), ['worker-last'])
  })
})
