import { performance } from 'node:perf_hooks'
import { createWhatsAppWeb } from '../../../src/channels/whatsapp-web/index.ts'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import { Dispatcher } from '../../../src/core/dispatch/workers/dispatcher.ts'
import type { ConnectionId, MessageId, WorkerId } from '../../../src/core/ids.ts'
import type { Channel } from '../../../src/core/ports/channel.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import { EncryptedSessionStore } from '../../../src/secrets/session-store.ts'
import { createChannelEvents } from '../../../src/server/wiring/channel-events.ts'
import { accept, addSender, holdLane, type Sender, type StorageWorld } from '../../conformance/storage-world.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { testSecrets } from '../secrets.ts'
import { LIBRARY_FOLDER } from './library.ts'
import { type ClientState, LibraryClient } from './library-client.ts'
import type { Simulator } from './simulator.ts'

const LINKER = 'linker' as WorkerId
const TICK_MS = 10
const LIMIT = { deadlineMs: 60_000, everyMs: 20 }
const STOPS_WITHIN_MS = 5_000

/** Workers with the channel on one database, against the simulator. Time goes on by itself, and can be made to go faster. */
export class ChannelWorld {
  readonly storage: StorageWorld
  readonly events: JournalEvent[] = []
  readonly #simulator: Simulator
  readonly #workers: RunningWorker[] = []
  readonly #ticking: Promise<void>
  #isOpen = true
  #skippedMs = 0

  constructor(storage: StorageWorld, simulator: Simulator) {
    this.storage = storage
    this.#simulator = simulator
    this.#ticking = this.#tick()
  }

  get sessions(): EncryptedSessionStore {
    return new EncryptedSessionStore({ rows: this.storage.sessions, secrets: testSecrets() })
  }

  /** A connection whose phone has linked this installation, with a first message in its lane. */
  async link(number: string, text: string, to: string): Promise<Linked> {
    const { storage } = this
    const sender = await this.#addSender(number)
    const messageId = await accept(storage, sender, { text, to })
    const client = await LibraryClient.link(this.#simulator, number)
    await client.end()
    const lane = await holdLane(storage, LINKER, sender.connectionId)
    const session = await this.sessions.open({ ...lane, accountId: sender.accountId })
    const { rows } = client.state
    await session?.write({ credentials: Buffer.from(rows.get('creds') ?? '') })
    const keys = [...rows].filter(([row]) => row !== 'creds').map(([row, text]) => keyOf(row, text))
    await session?.write({ keys })
    await storage.lanes.release([lane])
    await storage.lanes.deleteLease(LINKER)
    return { sender, messageId, state: client.state }
  }

  accept(sender: Sender, text: string, to: string): Promise<MessageId> {
    return accept(this.storage, sender, { text, to })
  }

  createChannel(memory = this.storage.channelState(WHATSAPP_WEB)): Channel {
    const { storage } = this
    return createWhatsAppWeb({
      memory,
      sessions: this.sessions,
      clock: storage.clock,
      folder: LIBRARY_FOLDER,
      rootKey: this.#simulator.rootKey.public.toString('base64'),
      url: this.#simulator.url,
      note: (event) => this.events.push(event),
    })
  }

  async startWorker(id: WorkerId, channel = this.createChannel()): Promise<RunningWorker> {
    const { storage } = this
    await channel.start(createChannelEvents(storage))
    const dispatcher = new Dispatcher({
      worker: id,
      lanes: storage.lanes,
      blocked: storage.blocked,
      channels: new Map([[WHATSAPP_WEB, channel]]),
      clock: storage.clock,
      journal: { record: (event) => this.events.push(event) },
      wantMedia: () => {},
      pollEveryMs: 100,
    })
    await dispatcher.start()
    const worker = {
      async stop() {
        await dispatcher.stop(STOPS_WITHIN_MS)
        await channel.stop()
      },
    }
    this.#workers.push(worker)
    return worker
  }

  async stateOf(id: MessageId): Promise<string> {
    return (await this.storage.administration.explainMessage(id)).message.state
  }

  async reasonOf(id: MessageId): Promise<string | null> {
    return (await this.storage.administration.explainMessage(id)).message.reason
  }

  /** An attempt of the message was refused for this reason. */
  waitsFor(id: MessageId, reason: string): Promise<true> {
    return waitUntil(`the message waits for ${reason}`, async () => (await this.reasonOf(id)) === reason, LIMIT)
  }

  reaches(id: MessageId, state: string): Promise<true> {
    return waitUntil(`the message is ${state}`, async () => (await this.stateOf(id)) === state, LIMIT)
  }

  /** The statuses that the session of a connection went through. */
  statusesOf(connectionId: ConnectionId): readonly string[] {
    return this.events.flatMap((event) =>
      event.event === 'session.changed' && event.connectionId === connectionId ? [event.status] : [],
    )
  }

  /** Lets time jump. */
  skip(ms: number): void {
    this.#skippedMs += ms
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.stop()
    this.#isOpen = false
    await this.#ticking
    await this.storage.close()
  }

  async #addSender(number: string): Promise<Sender> {
    const { administration } = this.storage
    const sender = await addSender(this.storage, { number })
    await administration.removeConnection(sender.connectionId, true, 'test')
    const policy = DEFAULT_LANE_POLICY
    const { accountId } = sender
    const { id } = await administration.addConnection(
      { accountId, number, channel: WHATSAPP_WEB, policy, channelSettings: {} },
      'test',
    )
    return { ...sender, connectionId: id }
  }

  async #tick(): Promise<void> {
    let last = performance.now()
    while (this.#isOpen) {
      await new Promise((resolve) => setTimeout(resolve, TICK_MS))
      const now = performance.now()
      const skippedMs = this.#skippedMs
      this.#skippedMs = 0
      await this.storage.clock.pass(Math.round(now - last) + skippedMs)
      last = now
    }
  }
}

interface Linked {
  readonly sender: Sender
  /** Of the first message. */
  readonly messageId: MessageId
  /** With which the same device can log in elsewhere. */
  readonly state: ClientState
}

interface RunningWorker {
  stop(): Promise<void>
}

function keyOf(row: string, text: string) {
  const [kind = '', ...id] = row.split('/')
  return { kind, id: id.join('/'), recipient: null, value: Buffer.from(text) }
}
