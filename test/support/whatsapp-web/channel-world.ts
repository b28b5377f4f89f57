import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { onTestFinished } from 'vitest'
import { createWhatsAppWeb } from '../../../src/channels/whatsapp-web/index.ts'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import { Dispatcher } from '../../../src/core/dispatch/workers/dispatcher.ts'
import type { AccountId, ConnectionId, MessageId, WorkerId } from '../../../src/core/ids.ts'
import type { MediaContent } from '../../../src/core/message/message.ts'
import type { Channel } from '../../../src/core/ports/channel.ts'
import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import type { Clock } from '../../../src/core/ports/clock.ts'
import type { DeviceSessions } from '../../../src/core/ports/console/device-sessions.ts'
import type { GuardedCall } from '../../../src/core/ports/guarded-call.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import type { SessionRequestKind } from '../../../src/core/ports/session-requests.ts'
import { createGuardedCall } from '../../../src/media/create-guarded-call.ts'
import { EncryptedSessionStore } from '../../../src/secrets/session-store.ts'
import { createChannelEvents } from '../../../src/server/wiring/channel-events.ts'
import { createDeviceSessions } from '../../../src/storage/queries/connections/device-sessions.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import {
  accept,
  addSender,
  candidate,
  holdLane,
  type NewWorld,
  type Sender,
  type StorageWorld,
} from '../../conformance/storage-world.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { testSecrets } from '../secrets.ts'
import { LIBRARY_FOLDER } from './library.ts'
import { type ClientState, LibraryClient } from './library-client.ts'
import type { Simulator } from './simulator.ts'
import { keyOf } from './store-linked.ts'
import { WatchedRequest } from './watched-request.ts'

const LINKER = 'linker' as WorkerId
const TICK_MS = 10
const LIMIT = { deadlineMs: 60_000, everyMs: 20 }
const STOPS_WITHIN_MS = 5_000

/** Workers with the channel on one database, against the simulator. Time passes by itself, and tests can skip some of it. */
export class ChannelWorld {
  readonly storage: StorageWorld
  readonly events: JournalEvent[] = []
  /** The settings of connections that are linked from now on. */
  settings: Readonly<Record<string, unknown>> = {}
  /** The profile name of the phone's owner; null: not known yet. */
  ownName: string | null = null
  readonly #simulator: Simulator
  readonly #workers: RunningWorker[] = []
  readonly #spool = mkdtempSync(join(tmpdir(), 'nuncio-web-'))
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

  /** Adds a connection that a phone has linked, with a first message in its lane. */
  async link(number: string, text: string, to: string): Promise<Linked> {
    const { storage } = this
    const sender = await this.#addSender(number)
    const messageId = await accept(storage, sender, { text, to })
    const client = await LibraryClient.link(this.#simulator, number)
    await client.end()
    const lane = await holdLane(storage, LINKER, sender.connectionId)
    const session = await this.sessions.open({ ...lane, accountId: sender.accountId })
    const { rows } = client.state
    const { me, ...credentials } = JSON.parse(rows.get('creds') ?? '') as { me: object }
    const named = this.ownName === null ? me : { ...me, name: this.ownName }
    await session?.write({ credentials: Buffer.from(JSON.stringify({ ...credentials, me: named })) })
    const keys = [...rows].filter(([row]) => row !== 'creds').map(([row, text]) => keyOf(row, text))
    await session?.write({ keys })
    await storage.lanes.release([lane])
    await storage.lanes.deleteLease(LINKER)
    return { sender, messageId, state: client.state }
  }

  /** Adds a connection that no phone has linked yet. */
  addSender(number: string): Promise<Sender> {
    return this.#addSender(number)
  }

  /** Begins a request, as a page or a command does, and notifies the workers. */
  async request({ accountId, connectionId: id }: Sender, kind: SessionRequestKind): Promise<WatchedRequest> {
    const requests = createDeviceSessions(this.storage.store)
    const of = { accountId, id }
    const { id: requestId } = await requests.request(of, kind, 'test')
    this.notify(id)
    return new WatchedRequest(requests, { of, id: requestId, secrets: testSecrets(), notify: () => this.notify(id) })
  }

  /** Notifies the workers, as the database would. */
  notify(connectionId: ConnectionId): void {
    for (const { dispatcher } of this.#workers) dispatcher.change([connectionId])
  }

  statusOf({ accountId, connectionId: id }: Sender): ReturnType<DeviceSessions['read']> {
    return createDeviceSessions(this.storage.store).read({ accountId, id })
  }

  accept(sender: Sender, text: string, to: string): Promise<MessageId> {
    return accept(this.storage, sender, { text, to })
  }

  /** Accepts a message whose attachment is already in the spool. */
  async acceptFile(sender: Sender, content: Omit<MediaContent, 'url'>, given: GivenFile): Promise<MessageId> {
    const { storage } = this
    const url = 'https://files.example/file'
    const { type, name, caption } = content
    const message = { type, media: { name, url, ...(caption !== null && { caption }) } }
    const body = JSON.stringify({ from: sender.number, to: given.to, message })
    const plain = candidate(storage, sender, { media: true, to: given.to, url })
    const result = await storage.intake.accept({ ...plain, body, content: { ...content, url } })
    if (result.kind !== 'accepted') throw new Error(`the message is ${result.kind}`)
    const path = join(this.#spool, randomUUID())
    await writeFile(path, given.bytes)
    const sha256 = createHash('sha256').update(given.bytes).digest('hex')
    const file = { path, sizeBytes: given.bytes.length, sha256, mime: given.mime }
    const [row] = await storage.sql(`select sequence from message where id = '${result.messageId}'`)
    const sequence = Number(row?.['sequence'])
    await storage.mediaQueue.take([sequence])
    await storage.mediaQueue.ready(sequence, { file, tookMs: 1, at: storage.clock.now() })
    return result.messageId
  }

  createChannel({
    memory = this.storage.channelState(WHATSAPP_WEB),
    folder = LIBRARY_FOLDER,
    clock = this.storage.clock,
    guarded = createGuardedCall({
      isLoopbackOpened: true,
      trustedCertificates: [this.#simulator.media.authority],
    }),
  }: ChannelGiven = {}): Channel {
    return createWhatsAppWeb({
      memory,
      sessions: this.sessions,
      blocked: this.storage.blocked,
      clock,
      folder,
      rootKey: this.#simulator.rootKey.public.toString('base64'),
      url: this.#simulator.url,
      guarded,
      version: null,
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
      dispatcher,
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
    const { message, laneWait } = await this.storage.administration.explainMessage(id)
    return message.reason ?? laneWait?.reason ?? null
  }

  /** How much longer the message waits. Negative: there is no time at which its wait ends. */
  async waitsForMs(id: MessageId): Promise<number> {
    const { laneWait } = await this.storage.administration.explainMessage(id)
    return (laneWait?.until ?? 0) - this.storage.clock.now()
  }

  async timelineOf(id: MessageId): Promise<readonly string[]> {
    return (await this.storage.administration.explainMessage(id)).timeline.map(({ kind }) => kind)
  }

  async block(accountId: AccountId, number: string): Promise<void> {
    await this.storage.blockLists.block(accountId, { numbers: [number], reason: null }, 'test')
  }

  /** Waits until the message, or its lane, waits for this reason. */
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

  /** Skips this much time. */
  skip(ms: number): void {
    this.#skippedMs += ms
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.stop()
    this.#isOpen = false
    await this.#ticking
    await this.storage.close()
    rmSync(this.#spool, { recursive: true, force: true })
  }

  async #addSender(number: string): Promise<Sender> {
    const { administration } = this.storage
    const sender = await addSender(this.storage, { number })
    await administration.removeConnection(sender.connectionId, true, 'test')
    const policy = DEFAULT_LANE_POLICY
    const { accountId } = sender
    const { id } = await administration.addConnection(
      { accountId, number, channel: WHATSAPP_WEB, policy, channelSettings: { ...this.settings } },
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

/** Opens a world that is closed after the test. */
export async function openChannelWorld(
  simulator: Simulator,
  newWorld: NewWorld = newSqliteWorld,
): Promise<ChannelWorld> {
  const world = new ChannelWorld(await newWorld(), simulator)
  onTestFinished(() => world.close())
  return world
}

interface ChannelGiven {
  readonly memory?: ChannelState
  readonly clock?: Clock
  readonly guarded?: GuardedCall
  /** The folder in which the channel's library is installed. */
  readonly folder?: string
}

interface GivenFile {
  readonly to: string
  readonly bytes: Buffer
  readonly mime: string
}

interface Linked {
  readonly sender: Sender
  /** The id of the first message. */
  readonly messageId: MessageId
  /** The state with which the same device can log in elsewhere. */
  readonly state: ClientState
}

interface RunningWorker {
  readonly dispatcher: Dispatcher
  stop(): Promise<void>
}
