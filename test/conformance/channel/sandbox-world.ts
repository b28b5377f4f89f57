import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SANDBOX_DESCRIPTION } from '../../../src/channels/sandbox/description.ts'
import { readInboxEntry } from '../../../src/channels/sandbox/inbox.ts'
import { createSandbox, SANDBOX } from '../../../src/channels/sandbox/index.ts'
import type { MessageType } from '../../../src/core/message/message.ts'
import type { Channel, ChannelEvents, Receipt } from '../../../src/core/ports/channel.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { newSqliteWorld } from '../sqlite-world.ts'
import { addSender } from '../storage-world.ts'
import type { Altering, ChannelWorld, NetworkError } from './channel-world.ts'
import { GivenMessages } from './given-messages.ts'
import { loseable } from './loseable-memory.ts'

const PAIRS = { latency: '0ms', delivered_after: '0ms', read_after: '1ms' }
const MEDIA_BYTES = 1_000_000
const LONGEST_INBOX = 100

const RECIPIENTS: Readonly<Record<NetworkError, string | null>> = {
  refuses: '15550100001',
  'is-away': '15550100006',
  'drops-before': '15550100004',
  'drops-after': '15550100003',
  'hangs-before': '15550100005',
  // Its call to the network is a promise in the same process, which cannot hang afterwards.
  'hangs-after': null,
  // It has no secrets, and uses only its own words.
  'repeats-secrets': null,
}

/** The sandbox on SQLite. Its stored state is its network. */
export async function newSandboxWorld(alter: Altering = (channel) => channel): Promise<ChannelWorld> {
  const storage = await newSqliteWorld()
  const { accountId, connectionId } = await addSender(storage)
  const folder = await mkdtemp(join(tmpdir(), 'nuncio-sandbox-'))
  const line = { isLost: false }
  const stored = storage.channelState(SANDBOX)
  const memory = loseable(stored, line)
  const create = () =>
    createSandbox({
      memory,
      clock: systemClock,
      mediaFolder: join(folder, 'copies'),
      mediaBytes: MEDIA_BYTES,
      crash: () => {},
    })
  const channels: Channel[] = []
  const build = () => {
    const channel = create()
    channels.push(channel)
    return alter(channel, () => world)
  }
  const receipts: Receipt[] = []
  const events: ChannelEvents = {
    async receipt(receipt) {
      receipts.push(receipt)
      // As the service does: it offers the report again until the attempt has ended.
      while (world.receiptEnd === 'too-early') {
        await new Promise((resolve) => setTimeout(resolve, 20))
        receipts.push(receipt)
      }
    },
    offerReceipt: () => Promise.reject(new Error('the sandbox waits')),
    sendAgain: () => Promise.reject(new Error('the sandbox repeats nothing')),
  }
  const start = async () => {
    const channel = build()
    await channel.start(events)
    return channel
  }
  const channel = await start()
  const messages = await GivenMessages.open({ accountId, connectionId, settings: channel.parseSettings(PAIRS) })
  const world: ChannelWorld = {
    channel,
    description: SANDBOX_DESCRIPTION,
    pairs: PAIRS,
    secrets: [],
    handover: (given) => messages.handover(given),
    startAnother: start,
    create: build,
    recipientWhen: (error) => RECIPIENTS[error],
    async arrived() {
      const entries = await stored.list('inbox', { connectionId, after: 0, limit: LONGEST_INBOX })
      return entries.flatMap(({ value }) => {
        const record = readInboxEntry(value)
        if (!record) return []
        const { to, type, text, caption, name, path } = record
        return [{ to, type: type as MessageType, text: text ?? caption, name, sha256: path && sha256Of(path) }]
      })
    },
    receipts,
    receiptEnd: 'applied',
    loseStorage() {
      line.isLost = true
      return () => {
        line.isLost = false
      }
    },
    async close() {
      world.receiptEnd = 'applied'
      for (const each of channels) await each.stop()
      await messages.close()
      await storage.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return world
}

/** The hash of the copy that the recipient can open. */
function sha256Of(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
