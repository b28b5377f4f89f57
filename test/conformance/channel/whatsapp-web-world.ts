import { randomUUID } from 'node:crypto'
import { WHATSAPP_WEB_DESCRIPTION } from '../../../src/channels/whatsapp-web/description.ts'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { wireIdOf } from '../../../src/channels/whatsapp-web/wire-id.ts'
import type { ConnectionId, MessageId, WorkerId } from '../../../src/core/ids.ts'
import type { MessageType } from '../../../src/core/message/message.ts'
import type { Channel, ChannelEvents, HeldLane, Outcome, Receipt } from '../../../src/core/ports/channel.ts'
import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { secondsNow } from '../../support/whatsapp-web/binary-node.ts'
import { ChannelWorld as WebWorld } from '../../support/whatsapp-web/channel-world.ts'
import type { AttachmentProto, MessageProto } from '../../support/whatsapp-web/library.ts'
import { newNumber, RECIPIENT, simulator } from '../../support/whatsapp-web/library-world.ts'
import type { ReceivedMessage } from '../../support/whatsapp-web/phone.ts'
import { newSqliteWorld } from '../sqlite-world.ts'
import { holdLane } from '../storage-world.ts'
import type { Altering, ChannelWorld } from './channel-world.ts'
import { ANY_RECIPIENT, GivenMessages } from './given-messages.ts'
import { loseable, loseableRows } from './loseable-memory.ts'

const FAULTS = {
  'drops-before': 'drop-before',
  'drops-after': 'drop-after',
  'hangs-before': 'lose-silently',
  'hangs-after': 'take-silently',
} as const

// On a busy machine an attempt may fail for these reasons. The lane would make another one.
const TOO_SLOW: ReadonlySet<string> = new Set(['recipient_lookup', 'call_interrupted'])
const MOST_TRIES = 20
const ENOUGH_KEYS = 100
const LIMIT = { deadlineMs: 60_000, everyMs: 5 }

/**
 * WhatsApp Web against its simulator. The session moves to the channel that sends, as it does with a lane. `changedMemory`
 * changes the stored state of its channels.
 */
export async function newWhatsAppWebWorld(
  alter: Altering = (channel) => channel,
  changedMemory: Partial<ChannelState> = {},
): Promise<ChannelWorld> {
  const storage = await newSqliteWorld()
  const line = { isLost: false }
  const web = new WebWorld({ ...storage, sessions: loseableRows(storage.sessions, line) }, simulator)
  const number = newNumber()
  // No one writes to it, so its first login need not create keys for that.
  simulator.queries.preKeyCount = ENOUGH_KEYS
  const phones = [simulator.phone(ANY_RECIPIENT)]
  const { sender } = await web.link(number, 'never sent', RECIPIENT)
  const owner = new SessionOwner(web, { ...sender, number })
  const memory = { ...loseable(storage.channelState(WHATSAPP_WEB), line), ...changedMemory }
  const channels: Channel[] = []
  const create = (): Channel => {
    const channel = web.createChannel({ memory, clock: systemClock })
    channels.push(channel)
    return alter(owner.following(channel), () => world)
  }
  const receipts: Receipt[] = []
  const events: ChannelEvents = {
    receipt: () => Promise.reject(new Error('WhatsApp Web does not wait')),
    async offerReceipt(receipt) {
      receipts.push(receipt)
      return world.receiptEnd
    },
    sendAgain: () => Promise.resolve(null),
  }
  const start = async () => {
    const channel = create()
    await channel.start(events)
    return channel
  }
  const messages = await GivenMessages.open({ ...sender, settings: {} })
  const world: ChannelWorld = {
    channel: await start(),
    description: WHATSAPP_WEB_DESCRIPTION,
    pairs: { new_recipients_per_day: '12', typing: 'on', presence: 'on' },
    secrets: await secretsOf(web, owner),
    handover: (given) => messages.handover(given),
    startAnother: start,
    create,
    recipientWhen(error) {
      if (error === 'repeats-secrets') return null
      const to = newNumber()
      if (error === 'refuses') return to
      phones.push(simulator.phone(to))
      if (error === 'is-away') owner.endLine()
      // The line breaks only once, so that a message that is sent a second time arrives.
      else simulator.messages.failTo(to, FAULTS[error], { isOnce: error.startsWith('drops') })
      return to
    },
    async arrived() {
      const isOurs = ({ from }: ReceivedMessage) =>
        from.startsWith(number) || from.startsWith(simulator.phone(number).lidUser)
      return phones.flatMap((phone) =>
        phone.inbox.filter(isOurs).map(({ message }) => toArrived(phone.number, message)),
      )
    },
    receipts,
    receiptEnd: 'applied',
    loseStorage() {
      line.isLost = true
      return () => {
        line.isLost = false
      }
    },
    bringForeignReports: async (messageId) => bringForeign(number, messageId),
    async close() {
      for (const channel of channels) await channel.stop()
      await messages.close()
      await web.close()
    },
  }
  await owner.openFor(channels[0]!)
  return world
}

interface Owned {
  readonly accountId: HeldLane['accountId']
  readonly connectionId: ConnectionId
  readonly number: string
}

/** Moves the session of a connection from one channel to another, as workers do with its lane. */
class SessionOwner {
  readonly #web: WebWorld
  readonly #owned: Owned
  #held: { readonly channel: Channel; readonly lane: HeldLane } | null = null
  #isHeld = { by: null as Channel | null }
  #isAway = false
  /** A lane sends one message after another. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(web: WebWorld, owned: Owned) {
    this.#web = web
    this.#owned = owned
  }

  get lane(): Pick<HeldLane, 'connectionId' | 'accountId'> {
    return this.#owned
  }

  /** The same channel, but it gets the session before it needs it. */
  following(channel: Channel): Channel {
    return {
      ...channel,
      prepare: async (handover, signal) => {
        await this.openFor(channel)
        return (await channel.prepare?.(handover, signal)) ?? { kind: 'ready' }
      },
      send: (handover, signal, stillHolds) => {
        const sent = this.#last.then(() => this.#send(channel, [handover, signal, stillHolds]))
        this.#last = sent.catch(() => {})
        return sent
      },
    }
  }

  /** WhatsApp ends the line, and refuses each login from now on. */
  endLine(): void {
    const { number } = this.#owned
    simulator.refusedLogins.set(number, '503')
    simulator.breakLine(number, '503')
    this.#isAway = true
  }

  async #send(channel: Channel, [handover, signal, stillHolds]: Parameters<Channel['send']>): Promise<Outcome> {
    await this.openFor(channel)
    const status = () => this.#web.statusesOf(this.#owned.connectionId).at(-1)
    if (this.#isAway) await waitUntil('the end of the line', async () => status() === 'connecting', LIMIT)
    for (let tries = 1; ; tries += 1) {
      const outcome = await channel.send(handover, signal, stillHolds)
      const isOver = signal.aborted || !stillHolds() || outcome.kind !== 'rejected' || tries === MOST_TRIES
      if (isOver || !TOO_SLOW.has(outcome.failure.code)) return outcome
    }
  }

  async openFor(channel: Channel): Promise<void> {
    if (this.#held?.channel === channel) return
    const { storage } = this.#web
    const before = this.#held
    this.#isHeld.by = null
    if (before) {
      await before.channel.sessions?.close(before.lane, { remove: false, signal: new AbortController().signal })
      await storage.lanes.release([before.lane])
    }
    const logins = () => this.#web.statusesOf(this.#owned.connectionId).filter((status) => status === 'ready').length
    const earlier = logins()
    const claimed = await holdLane(storage, `worker-${randomUUID()}` as WorkerId, this.#owned.connectionId)
    const lane = { ...this.#owned, epoch: claimed.epoch, stillHolds: () => this.#isHeld.by === channel }
    this.#isHeld.by = channel
    this.#held = { channel, lane }
    channel.sessions?.open(lane)
    await waitUntil('the login', async () => logins() > earlier, LIMIT)
  }
}

/** The parts of the stored session that must not be visible elsewhere. */
async function secretsOf(web: WebWorld, { lane }: SessionOwner): Promise<readonly string[]> {
  const claimed = await holdLane(web.storage, 'reader' as WorkerId, lane.connectionId)
  const session = await web.sessions.open({ ...lane, epoch: claimed.epoch })
  await web.storage.lanes.release([claimed])
  const { advSecretKey, noiseKey, signedIdentityKey } = JSON.parse(
    Buffer.from(session?.credentials ?? '').toString(),
  ) as StoredCredentials
  return [advSecretKey, noiseKey.private.data, signedIdentityKey.private.data]
}

interface StoredCredentials {
  readonly advSecretKey: string
  readonly noiseKey: { readonly private: { readonly data: string } }
  readonly signedIdentityKey: { readonly private: { readonly data: string } }
}

const KINDS: readonly (readonly [MessageType, (message: MessageProto) => AttachmentProto | null | undefined])[] = [
  ['image', ({ imageMessage }) => imageMessage],
  ['video', ({ videoMessage }) => videoMessage],
  ['audio', ({ audioMessage }) => audioMessage],
  ['document', ({ documentMessage }) => documentMessage],
]

function toArrived(to: string, message: MessageProto) {
  for (const [type, attachmentOf] of KINDS) {
    const attachment = attachmentOf(message)
    if (!attachment) continue
    const sha256 = Buffer.from(attachment.fileSha256).toString('hex')
    return { to, type, text: attachment.caption || null, name: attachment.fileName || null, sha256 }
  }
  const text = message.extendedTextMessage?.text ?? null
  return { to, type: 'message' as const, text, name: null, sha256: null }
}

/** Brings reports about a message of another connection, and about one that was never sent. */
async function bringForeign(number: string, messageId: MessageId): Promise<void> {
  const device = simulator.lineOf(number)?.login?.device
  const elsewhere = wireIdOf({ connectionId: randomUUID() as ConnectionId, messageId })
  for (const id of [elsewhere, '3EB0000000000000000000'])
    if (device)
      simulator.push(device, { tag: 'receipt', attrs: { id, from: simulator.phone(RECIPIENT).jid, t: secondsNow() } })
}
