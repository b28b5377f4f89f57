import { createHmac, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WHATSAPP_CLOUD_DESCRIPTION } from '../../../src/channels/whatsapp-cloud/description.ts'
import { createWhatsAppCloud, type WhatsAppCloud } from '../../../src/channels/whatsapp-cloud/index.ts'
import { WHATSAPP_CLOUD } from '../../../src/channels/whatsapp-cloud/name.ts'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { MessageType } from '../../../src/core/message/message.ts'
import type { Channel, ChannelEvents, Receipt } from '../../../src/core/ports/channel.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { testSecrets } from '../../support/secrets.ts'
import { cloudNumber } from '../../support/whatsapp-cloud/connect-number.ts'
import { startSimulator } from '../../support/whatsapp-cloud/simulator.ts'
import type { SentMessage, Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'
import { newSqliteWorld } from '../sqlite-world.ts'
import { SENDER, type StorageWorld } from '../storage-world.ts'
import type { Altering, ChannelWorld, NetworkError } from './channel-world.ts'
import { GivenMessages } from './given-messages.ts'
import { loseable } from './loseable-memory.ts'

const NUMBER = cloudNumber(1, { number: SENDER })
const APP = 'a'.repeat(22)
const PAIRS = {
  phone_number_id: NUMBER.phoneNumberId,
  business_account_id: NUMBER.businessAccountId,
  access_token: NUMBER.accessToken,
  app_secret: NUMBER.appSecret,
  verify_token: NUMBER.verifyToken,
  graph_version: 'v26.0',
  link_preview: 'off',
  template_text: 'notice:en_US',
  template_image: 'picture:en_US',
  template_document: 'document:en_US',
  template_video: 'film:de',
}
const SECRETS = [NUMBER.accessToken, NUMBER.appSecret, NUMBER.verifyToken]
const RECIPIENT_REFUSED = 131_026
const TOKEN_REFUSED = 190

/** The Cloud API against its simulator, with callbacks that arrive as they do from Meta. */
export async function newWhatsAppCloudWorld(alter: Altering = (channel) => channel): Promise<ChannelWorld> {
  const storage = await newSqliteWorld()
  const simulator = await startSimulator()
  simulator.addNumber(NUMBER)
  const line = { isLost: false }
  const memory = loseable(storage.channelState(WHATSAPP_CLOUD), line)
  const create = () =>
    createWhatsAppCloud({
      memory,
      clock: systemClock,
      secrets: testSecrets(),
      connections: storage.channelConnections(WHATSAPP_CLOUD),
      baseUrl: simulator.url,
    })
  const channels: WhatsAppCloud[] = []
  const build = () => {
    const channel = create()
    channels.push(channel)
    return alter(channel, () => world)
  }
  const receipts: Receipt[] = []
  const events: ChannelEvents = {
    receipt: () => Promise.reject(new Error('the Cloud API does not wait')),
    async offerReceipt(receipt) {
      receipts.push(receipt)
      return world.receiptEnd
    },
    sendAgain: () => Promise.resolve(null),
  }
  const start = async () => {
    const channel = build()
    await channel.start(events)
    return channel
  }
  const channel = await start()
  // This process serves HTTP, so it receives callbacks for every started channel.
  const callbacks = await receiveFor(create())
  simulator.deliverCallbacks({ url: callbacks.url })
  const owner = await addConnection(storage, channel)
  const messages = await GivenMessages.open(owner)
  let troubled = 0
  const world: ChannelWorld = {
    channel,
    description: WHATSAPP_CLOUD_DESCRIPTION,
    pairs: PAIRS,
    secrets: SECRETS,
    handover: (given) => messages.handover(given),
    startAnother: start,
    create: build,
    recipientWhen(error) {
      troubled += 1
      const to = `1555000${7_000 + troubled}`
      makeErrors(simulator, error, to)
      return to
    },
    arrived: () => Promise.resolve(simulator.sent.map(toArrived)),
    receipts,
    receiptEnd: 'applied',
    loseStorage() {
      line.isLost = true
      return () => {
        line.isLost = false
      }
    },
    bringForeignReports: (messageId) => bringForeign(callbacks.url, messageId),
    async close() {
      for (const each of channels) await each.stop()
      await simulator.close()
      await callbacks.close()
      await messages.close()
      await storage.close()
    },
  }
  return world
}

async function addConnection({ administration }: StorageWorld, channel: Channel) {
  const { id: accountId } = await administration.createAccount('Account', 'test')
  const id = randomUUID() as ConnectionId
  const place = { purpose: 'connection', accountId, owner: id } as const
  const parsed = channel.parseSettings(PAIRS)
  const sealed = Object.fromEntries(
    WHATSAPP_CLOUD_DESCRIPTION.secretKeys.map((name) => [
      name,
      testSecrets().seal(String(parsed[name]), { ...place, name }),
    ]),
  )
  const settings = { ...parsed, ...sealed }
  const link = { networkKey: NUMBER.phoneNumberId, callbackApp: APP }
  const wanted = { id, accountId, number: SENDER, channel: WHATSAPP_CLOUD, policy: DEFAULT_LANE_POLICY, link }
  const { id: connectionId } = await administration.addConnection({ ...wanted, channelSettings: settings }, 'test')
  return { accountId, connectionId, settings }
}

function makeErrors(simulator: Simulator, error: NetworkError, to: string): void {
  switch (error) {
    case 'refuses':
      simulator.fail({ to, code: RECIPIENT_REFUSED })
      return
    case 'is-away':
      simulator.fail({ to, code: TOKEN_REFUSED })
      return
    case 'repeats-secrets':
      simulator.fail({ to, code: TOKEN_REFUSED, details: `not ${NUMBER.accessToken}` })
      return
    case 'drops-before':
      simulator.dropBefore({ to })
      return
    case 'drops-after':
      simulator.dropAfterActing({ to })
      return
    case 'hangs-before':
    case 'hangs-after':
      simulator.fault(error === 'hangs-before' ? 'hang-before' : 'hang-after', { to })
  }
}

function toArrived({ waId, type, text, media }: SentMessage) {
  return {
    to: waId,
    type: (type === 'text' ? 'message' : type) as MessageType,
    text,
    name: media?.filename ?? null,
    sha256: media?.upload?.sha256 ?? null,
  }
}

/** The part of `http/callbacks` that these tests need. */
async function receiveFor({ callbacks }: WhatsAppCloud): Promise<{ url: string; close(): Promise<void> }> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const url = new URL(request.url ?? '', 'http://localhost')
    const { status, body } = await callbacks.receive({
      method: request.method === 'GET' ? 'GET' : 'POST',
      callbackApp: url.pathname.split('/').at(-1) ?? '',
      query: url.searchParams,
      headers,
      body: Buffer.concat(chunks),
    })
    response.writeHead(status).end(body)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(503).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/channels/${WHATSAPP_CLOUD}/${APP}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends forged callbacks, and some signed with the secret of another app. */
async function bringForeign(url: string, messageId: MessageId): Promise<void> {
  await post(url, statusOf(messageId, NUMBER.phoneNumberId), 'the app secret of another app')
  await post(url, statusOf(messageId, '999999999999999'), NUMBER.appSecret)
  await post(`${url.slice(0, -1)}b`, statusOf(messageId, NUMBER.phoneNumberId), NUMBER.appSecret)
}

async function post(url: string, body: string, appSecret: string): Promise<void> {
  const signature = createHmac('sha256', appSecret).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  await (await fetch(url, { method: 'POST', headers, body })).text()
}

function statusOf(messageId: MessageId, phoneNumberId: string): string {
  const status = {
    id: 'wamid.foreign',
    status: 'delivered',
    timestamp: String(Math.floor(Date.now() / 1_000)),
    recipient_id: '15550001234',
    biz_opaque_callback_data: `${messageId}#1`,
  }
  const metadata = { display_phone_number: SENDER, phone_number_id: phoneNumberId }
  const value = { messaging_product: 'whatsapp', metadata, statuses: [status] }
  const entry = [{ id: NUMBER.businessAccountId, changes: [{ field: 'messages', value }] }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry })
}
