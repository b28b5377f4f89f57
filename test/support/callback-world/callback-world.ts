import { createHmac } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createCallbackReceiver } from '../../../src/channels/whatsapp-cloud/callbacks/create-callback-receiver.ts'
import { NumberMemory } from '../../../src/channels/whatsapp-cloud/number-memory.ts'
import { REPORT_KIND } from '../../../src/channels/whatsapp-cloud/statuses/reported.ts'
import { StatusApplier } from '../../../src/channels/whatsapp-cloud/statuses/status-applier.ts'
import { WindowMemory } from '../../../src/channels/whatsapp-cloud/window-memory.ts'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { ChannelEvents, Receipt } from '../../../src/core/ports/channel.ts'
import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import type { CallbackEvent } from '../../../src/core/ports/journal.ts'
import { KeptPostgres } from '../../conformance/postgres-world.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  claim,
  type GivenMessage,
  head,
  holdLane,
  type NewWorld,
  type Sender,
  type StorageWorld,
  step,
} from '../../conformance/storage-world.ts'
import type { RawReply } from '../../contract/raw-http/raw-connection.ts'
import { type HeaderLines, ServerUnderTest } from '../../contract/raw-http/server-under-test.ts'
import { testSecrets } from '../secrets.ts'

const CHANNEL = 'whatsapp-cloud'

/** Both engines. The databases end with the tests of the calling file. */
export function openWorlds(): readonly (readonly [engine: string, newWorld: NewWorld])[] {
  return [
    ['SQLite', newSqliteWorld],
    ['PostgreSQL', new KeptPostgres().newWorld],
  ]
}

/** A connected number, with what Meta knows about it. */
export interface CloudSender extends Sender {
  readonly callbackApp: string
  readonly appSecret: string
  readonly verifyToken: string
  readonly phoneNumberId: string
  readonly businessAccountId: string
}

interface WantedSender {
  /** Whose account and app it shares; null for an account of its own. */
  readonly beside?: CloudSender
  readonly templates?: Readonly<Record<string, unknown>>
}

/** The fields of one status as Meta writes it, without those that are always the same. */
export type GivenStatus = Readonly<Record<string, unknown>>

/** A real server that receives callbacks, and appliers on the same storage. */
export class CallbackWorld {
  readonly storage: StorageWorld
  readonly server: ServerUnderTest
  readonly memory: ChannelState
  readonly notes: CallbackEvent[] = []
  readonly applier: StatusApplier
  readonly windows: WindowMemory
  readonly numbers: NumberMemory
  /** Called before each receipt. Tests make it fail. */
  beforeReceipt: (receipt: Receipt) => Promise<void> = () => Promise.resolve()
  #made = 0

  private constructor(storage: StorageWorld) {
    this.storage = storage
    this.memory = storage.channelState(CHANNEL)
    this.windows = new WindowMemory(this.memory)
    this.numbers = new NumberMemory(this.memory, storage.clock)
    this.applier = this.newApplier()
    const receiver = createCallbackReceiver({
      memory: this.memory,
      connections: storage.channelConnections(CHANNEL),
      secrets: testSecrets(),
      clock: storage.clock,
      note: (event) => this.notes.push(event),
      applying: this.applier,
    })
    // Long, so that a request is ended only because it stands still.
    this.server = new ServerUnderTest({ callbacks: [receiver], limits: { requestTimeoutMs: 600_000 } })
  }

  static async open(newWorld: NewWorld): Promise<CallbackWorld> {
    const world = new CallbackWorld(await newWorld())
    await world.server.start()
    return world
  }

  async close(): Promise<void> {
    await this.server.stop()
    await this.applier.stop()
    await this.storage.close()
  }

  /** Creates the applier of another worker. */
  newApplier(): StatusApplier {
    return new StatusApplier({
      memory: this.memory,
      connections: this.storage.channelConnections(CHANNEL),
      windows: this.windows,
      numbers: this.numbers,
      clock: this.storage.clock,
      note: (event) => this.notes.push(event),
    })
  }

  get events(): ChannelEvents {
    const { lanes } = this.storage
    return {
      receipt: () => Promise.reject(new Error('this channel offers')),
      offerReceipt: async (receipt) => {
        await this.beforeReceipt(receipt)
        return lanes.applyReceipt(receipt)
      },
      sendAgain: (failed) => this.storage.sendAgain(failed),
    }
  }

  async addSender({ beside, templates = {} }: WantedSender = {}): Promise<CloudSender> {
    this.#made += 1
    const place = this.#made
    const id = `connection-${place}` as ConnectionId
    const base = beside ?? (await addSender(this.storage, { number: `1555000${2000 + place}` }))
    const facts = {
      number: `1555000${3000 + place}`,
      phoneNumberId: String(106_540_352_242_922 + place),
      businessAccountId: beside?.businessAccountId ?? String(102_290_129_340_398 + place),
      appSecret: beside?.appSecret ?? `app-secret-number-${place}`,
      verifyToken: beside?.verifyToken ?? `verify-token-${place}`,
      callbackApp: beside?.callbackApp ?? `${place}`.padStart(22, 'A'),
    }
    const { accountId } = base
    const seal = (name: 'accessToken' | 'appSecret' | 'verifyToken', plain: string) =>
      testSecrets().seal(plain, { purpose: 'connection', accountId, owner: id, name })
    const wanted = {
      id,
      accountId,
      number: facts.number,
      channel: CHANNEL,
      policy: DEFAULT_LANE_POLICY,
      channelSettings: {
        phoneNumberId: facts.phoneNumberId,
        businessAccountId: facts.businessAccountId,
        accessToken: seal('accessToken', 'an access token'),
        appSecret: seal('appSecret', facts.appSecret),
        verifyToken: seal('verifyToken', facts.verifyToken),
        templates,
      },
      link: { networkKey: facts.phoneNumberId, callbackApp: facts.callbackApp },
    }
    await this.storage.administration.addConnection(wanted, 'test')
    return { ...base, connectionId: id, ...facts }
  }

  /** Changes the app secret, as a person does after Meta has issued a new one. The callback address stays the same. */
  async changeSecret({ accountId, connectionId: id, ...sender }: CloudSender, plain: string): Promise<void> {
    const { administration } = this.storage
    const { policy, channelSettings } = await administration.findConnection(sender.number, accountId)
    const appSecret = testSecrets().seal(plain, { purpose: 'connection', accountId, owner: id, name: 'appSecret' })
    await administration.changeConnection(id, { policy, channelSettings: { ...channelSettings, appSecret } }, 'test')
  }

  /** Accepts a message and opens its first attempt. */
  async open(sender: CloudSender, given: GivenMessage = {}): Promise<MessageId> {
    const messageId = await accept(this.storage, sender, given)
    await this.openNext(sender)
    return messageId
  }

  /** Opens an attempt of the next message in the lane. */
  async openNext(sender: CloudSender): Promise<void> {
    const lane = await holdLane(this.storage, ANNA, sender.connectionId)
    const message = await head(this.storage, sender.connectionId)
    const open = { sequence: message.sequence, number: message.attempts + 1 }
    await this.storage.lanes.record(step(this.storage, lane, { start: open }))
  }

  /** Ends the call of the open attempt. */
  async end(sender: CloudSender, as: { wamid: string } | 'UNCONFIRMED'): Promise<void> {
    const { storage } = this
    const [lane] = await claim(storage, ANNA, [sender.connectionId])
    if (!lane?.open) throw new Error('no attempt is open')
    const message = { sequence: lane.open.message.sequence, attempts: lane.open.number - 1 }
    const close =
      as === 'UNCONFIRMED'
        ? {
            attempt: attempt(storage, message, 'unknown'),
            disposition: { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null } as const,
          }
        : {
            attempt: { ...attempt(storage, message), networkId: as.wamid },
            disposition: { do: 'finalize', as: 'PUBLISHED', reason: null, words: null } as const,
          }
    await storage.lanes.record(step(storage, lane, { finish: close }))
  }

  /** Accepts a message and ends its attempt as published. */
  async publish(sender: CloudSender, wamid: string, given: GivenMessage = {}): Promise<MessageId> {
    const messageId = await this.open(sender, given)
    await this.end(sender, { wamid })
    return messageId
  }

  /** The body of a callback with these statuses of one number. */
  body({ phoneNumberId, businessAccountId }: CloudSender, ...statuses: readonly GivenStatus[]): string {
    const timestamp = String(Math.floor(this.storage.clock.now() / 1000))
    const value = {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '15550783881', phone_number_id: phoneNumberId },
      statuses: statuses.map((status) => ({ timestamp, recipient_id: '15550100000', ...status })),
    }
    const entry = [{ id: businessAccountId, changes: [{ field: 'messages', value }] }]
    return JSON.stringify({ object: 'whatsapp_business_account', entry })
  }

  /** Posts to an address, signed with the app's own secret unless another one is given. */
  async post(
    { callbackApp, appSecret }: Pick<CloudSender, 'callbackApp' | 'appSecret'>,
    body: string | Buffer,
    headers: HeaderLines = {},
  ): Promise<RawReply | null> {
    const signed = { 'x-api-key': null, 'X-Hub-Signature-256': sign(body, appSecret), ...headers }
    return this.server.ask({ target: addressOf(callbackApp), body, headers: signed })
  }

  /** Posts statuses and expects that they are taken. */
  async tell(sender: CloudSender, ...statuses: readonly GivenStatus[]): Promise<void> {
    const reply = await this.post(sender, this.body(sender, ...statuses))
    if (reply?.status !== 200) throw new Error(`the callback was answered with ${reply?.status}: ${reply?.text}`)
  }

  /** Lets time pass until at most this many reports wait to be applied; by default none. */
  async applied(leaving = 0): Promise<void> {
    const began = performance.now()
    // After 200 turns, wait longer in real time: on a busy machine the database needs it. The clock must then run no faster than
    // real time, or reports would be given up for their age.
    for (let turn = 0; turn < 200 || performance.now() - began < 30_000; turn++) {
      await this.storage.clock.pass(50)
      await pause(turn < 200 ? 2 : 50)
      if ((await this.waiting()).length <= leaving) return
    }
    throw new Error('the reports are not applied')
  }

  /** The reports that are stored and not applied yet. */
  waiting() {
    return this.memory.due(REPORT_KIND, Number.MAX_SAFE_INTEGER, 1_000)
  }

  async stateOf(id: MessageId): Promise<string> {
    return (await this.storage.administration.explainMessage(id)).message.state
  }

  async reportsOf(id: MessageId): Promise<readonly string[]> {
    const { timeline } = await this.storage.administration.explainMessage(id)
    return timeline.map(({ kind }) => kind).filter((kind) => kind.startsWith('receipt'))
  }

  noted(event: CallbackEvent['event']): readonly string[] {
    return this.notes
      .filter((note) => note.event === event)
      .map((note) => {
        if (note.event === 'callback.received') return note.outcome
        return note.event === 'callback.applied' ? `${note.kind} ${note.end}` : `${note.reason} ${note.count}`
      })
  }
}

export function sign(body: string | Buffer, appSecret: string): string {
  return `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
}

export function addressOf(callbackApp: string): string {
  return `/channels/${CHANNEL}/${callbackApp}`
}

/** A status about one of our messages. */
export function status(kind: string, messageId: MessageId, wamid: string): GivenStatus {
  return { id: wamid, status: kind, biz_opaque_callback_data: `${messageId}#1` }
}

/** Runs a test in a new world, and closes the world whatever happens. */
export async function withCallbacks(newWorld: NewWorld, test: (world: CallbackWorld) => Promise<void>): Promise<void> {
  const world = await CallbackWorld.open(newWorld)
  try {
    await test(world)
  } finally {
    await world.close()
  }
}
