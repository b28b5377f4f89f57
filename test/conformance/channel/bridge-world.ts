import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BRIDGE_DESCRIPTION } from '../../../src/channels/bridge/description.ts'
import { type Bridge, createBridge } from '../../../src/channels/bridge/index.ts'
import { BRIDGE } from '../../../src/channels/bridge/name.ts'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { MessageType } from '../../../src/core/message/message.ts'
import type { Channel, ChannelEvents, Receipt } from '../../../src/core/ports/channel.ts'
import type { ChannelConnections } from '../../../src/core/ports/channel-connections.ts'
import type { GuardedCall } from '../../../src/core/ports/guarded-call.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import { createGuardedCall } from '../../../src/media/create-guarded-call.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { type Fault, newSecret, ScriptedAdapter } from '../../support/bridge/scripted-adapter.ts'
import { testSecrets } from '../../support/secrets.ts'
import { newSqliteWorld } from '../sqlite-world.ts'
import { SENDER, type StorageWorld } from '../storage-world.ts'
import type { Altering, ChannelWorld, NetworkError } from './channel-world.ts'
import { GivenMessages } from './given-messages.ts'
import { loseable } from './loseable-memory.ts'

const APP = 'a'.repeat(22)

/** What this world has in addition. */
export interface BridgeWorld extends ChannelWorld {
  readonly adapter: ScriptedAdapter
  readonly connectionId: ConnectionId
  readonly callbackUrl: string
  readonly storage: StorageWorld
  readonly events: JournalEvent[]
}

interface Altered {
  readonly alter?: Altering
  /** Wraps the calls to adapters. */
  readonly wrap?: (guarded: GuardedCall, adapter: ScriptedAdapter) => GuardedCall
}

function asItIs<Thing>(thing: Thing): Thing {
  return thing
}

/** A bridge in front of an adapter whose gateway is a list. */
export async function newBridgeWorld({ alter = asItIs, wrap = asItIs }: Altered = {}): Promise<BridgeWorld> {
  const storage = await newSqliteWorld()
  const secret = newSecret()
  const oldSecret = newSecret()
  const adapter = await ScriptedAdapter.start({ secret })
  const pairs = {
    url: `${adapter.origin}/adapter`,
    secret,
    old_secret: oldSecret,
    send_timeout: '20s',
    evidence_wait: '5s',
  }
  const line = { isLost: false }
  const memory = loseable(storage.channelState(BRIDGE), line)
  const callbackServer = createServer()
  await new Promise<void>((resolve) => callbackServer.listen(0, '127.0.0.1', resolve))
  const publicUrl = `http://127.0.0.1:${(callbackServer.address() as AddressInfo).port}`
  const journal: JournalEvent[] = []
  const create = () =>
    createBridge({
      memory,
      clock: systemClock,
      secrets: testSecrets(),
      connections: loseableConnections(storage.channelConnections(BRIDGE), line),
      guarded: wrap(createGuardedCall({ origins: [adapter.origin] }), adapter),
      publicUrl,
      note: (event) => journal.push(event),
    })
  const channels: Bridge[] = []
  const build = () => {
    const channel = create()
    channels.push(channel)
    return alter(channel, () => world)
  }
  const receipts: Receipt[] = []
  const events: ChannelEvents = {
    receipt: () => Promise.reject(new Error('the bridge does not wait')),
    async offerReceipt(receipt) {
      receipts.push(receipt)
      return world.receiptEnd
    },
    sendAgain: () => Promise.reject(new Error('the bridge repeats nothing')),
  }
  const start = async () => {
    const channel = build()
    await channel.start(events)
    return channel
  }
  const channel = await start()
  // This process serves HTTP, so it receives receipts for every started channel.
  const receiver = create()
  callbackServer.on('request', (request, response) => {
    receive(receiver, request, response).catch(() => response.writeHead(503).end())
  })
  const owner = await addConnection(storage, channel, pairs)
  const messages = await GivenMessages.open(owner)
  let troubled = 0
  const callbackUrl = `${publicUrl}/channels/${BRIDGE}/${APP}`
  const world: BridgeWorld = {
    channel,
    adapter,
    connectionId: owner.connectionId,
    callbackUrl,
    storage,
    events: journal,
    description: BRIDGE_DESCRIPTION,
    pairs,
    secrets: [secret, oldSecret],
    handover: (given) => messages.handover(given),
    startAnother: start,
    create: build,
    recipientWhen(error) {
      troubled += 1
      const to = `1555000${7_000 + troubled}`
      adapter.faults.set(to, faultOf(error, secret))
      return to
    },
    arrived: () =>
      Promise.resolve(
        adapter.log.sent.map(({ attemptId: _, ...sent }) => ({ ...sent, type: sent.type as MessageType })),
      ),
    receipts,
    receiptEnd: 'applied',
    loseStorage() {
      line.isLost = true
      return () => {
        line.isLost = false
      }
    },
    bringForeignReports: (messageId) =>
      bringForeign({ adapter, url: callbackUrl, connectionId: owner.connectionId }, messageId),
    async close() {
      for (const each of channels) await each.stop()
      await adapter.close()
      callbackServer.closeAllConnections()
      await new Promise((resolve) => callbackServer.close(resolve))
      await messages.close()
      await storage.close()
    },
  }
  return world
}

function loseableConnections(connections: ChannelConnections, line: { readonly isLost: boolean }): ChannelConnections {
  const check = () => (line.isLost ? Promise.reject(new Error('storage is away')) : Promise.resolve())
  return {
    ofCallbackApp: (app) => check().then(() => connections.ofCallbackApp(app)),
    find: (id) => check().then(() => connections.find(id)),
    noteReport: (id, at) => check().then(() => connections.noteReport(id, at)),
  }
}

async function addConnection(
  { administration }: StorageWorld,
  channel: Channel,
  pairs: Readonly<Record<string, string>>,
) {
  const { id: accountId } = await administration.createAccount('Account', 'test')
  const id = randomUUID() as ConnectionId
  const place = { purpose: 'connection', accountId, owner: id } as const
  const parsed = channel.parseSettings(pairs)
  const sealed = Object.fromEntries(
    BRIDGE_DESCRIPTION.secretKeys.map((name) => [name, testSecrets().seal(String(parsed[name]), { ...place, name })]),
  )
  const settings = { ...parsed, ...sealed }
  const link = { networkKey: `${pairs['url']}#${SENDER}`, callbackApp: APP }
  const wanted = { id, accountId, number: SENDER, channel: BRIDGE, policy: DEFAULT_LANE_POLICY, link }
  const { id: connectionId } = await administration.addConnection({ ...wanted, channelSettings: settings }, 'test')
  return { accountId, connectionId, settings }
}

function faultOf(error: NetworkError, secret: string): Fault {
  switch (error) {
    case 'refuses':
      return { kind: 'reject', class: 'permanent', code: 'recipient_refused' }
    case 'is-away':
      return { kind: 'reject', class: 'connection', code: 'sender_offline' }
    case 'repeats-secrets':
      return { kind: 'reject', class: 'permanent', code: 'gateway_setup', words: `not ${secret} ${secret.slice(6)}` }
    case 'drops-before':
      return { kind: 'drop', when: 'before' }
    case 'drops-after':
      return { kind: 'drop', when: 'after' }
    case 'hangs-before':
      return { kind: 'hang', when: 'before' }
    case 'hangs-after':
      return { kind: 'hang', when: 'after' }
  }
}

/** The part of `http/callbacks` that these tests need. */
async function receive({ callbacks }: Bridge, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const url = new URL(request.url ?? '', 'http://localhost')
  const head = {
    method: request.method === 'GET' ? 'GET' : 'POST',
    callbackApp: url.pathname.split('/').at(-1) ?? '',
    query: url.searchParams,
    headers,
  } as const
  const { refusal } = await callbacks.checkHead(head)
  const reply = refusal ?? (await callbacks.receive({ ...head, body: Buffer.concat(chunks) }))
  response.writeHead(reply.status, reply.headers).end(reply.body)
}

interface Foreign {
  readonly adapter: ScriptedAdapter
  readonly url: string
  readonly connectionId: ConnectionId
}

/** Sends forged receipts, receipts about another connection, and some to another URL. */
async function bringForeign({ adapter, url, connectionId }: Foreign, messageId: MessageId): Promise<void> {
  const receipt = { attemptId: `${messageId}_1`, connectionId, kind: 'delivered', at: Date.now(), networkId: 'foreign' }
  const forger = await ScriptedAdapter.start({ secret: newSecret() })
  await forger.postReceipts(url, [receipt])
  await forger.close()
  await adapter.postReceipts(url, [{ ...receipt, connectionId: randomUUID() }])
  await adapter.postReceipts(`${url.slice(0, -1)}b`, [receipt])
  // Sends the content of a request of another kind back, with the signature that it came with.
  const body = JSON.stringify({ type: 'receipts', receipts: [receipt] })
  await fetch(url, { method: 'POST', headers: adapter.signedHeaders(`att_${messageId}_1`, body), body })
}
