import type { LanePolicy } from '../../../src/core/connection/lane-policy.ts'
import { Dispatcher } from '../../../src/core/dispatch/workers/dispatcher.ts'
import type { ConnectionId, MessageId, WorkerId } from '../../../src/core/ids.ts'
import type { QueuedMessage } from '../../../src/core/message/message.ts'
import type { BlockedRecipients } from '../../../src/core/ports/blocked-recipients.ts'
import type {
  Channel,
  ChannelSessions,
  Evidence,
  Handover,
  HeldLane,
  Outcome,
  Prepared,
  RateLimitDelay,
} from '../../../src/core/ports/channel.ts'
import type { JournalEvent } from '../../../src/core/ports/journal.ts'
import type { Lanes } from '../../../src/core/ports/lanes.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import { ANNA, accept, addSender, BEN, type Sender, type StorageWorld } from '../../conformance/storage-world.ts'
import { preferredWorker } from '../preferred-worker.ts'
import { overrideLanes } from './override-lanes.ts'

export const BOTH = [ANNA, BEN]

/** One call of a worker to the network. It lasts until the test ends it. */
export interface Call {
  readonly worker: WorkerId
  readonly text: string
  readonly number: number
  end(outcome: Outcome): void
}

/** One message that a worker's channel prepares. It lasts until the test ends it. */
export interface Upload {
  readonly worker: WorkerId
  readonly text: string
  readonly settings: Handover['settings']
  readonly signal: AbortSignal
  end(prepared: Prepared): void
}

export const READY: Prepared = { kind: 'ready' }

export const ACCEPTED: Outcome = { kind: 'accepted', networkId: 'net-1' }

interface GivenWorker {
  readonly lanes?: Lanes
  readonly blocked?: BlockedRecipients
  readonly pollEveryMs?: number
}

/** A text, and its recipient where that matters. */
type Letter = string | { readonly text: string; readonly to: string }

/** Several workers on one database and one network. Tests move the time by hand. */
export class DispatchWorld {
  readonly storage: StorageWorld
  readonly calls: Call[] = []
  readonly events: { readonly worker: WorkerId; readonly event: JournalEvent }[] = []
  /** The network's immediate answer; null: the call lasts until it is ended. */
  answer: ((call: Call) => Outcome | null) | null = () => ACCEPTED
  readonly uploads: Upload[] = []
  /**
   * The immediate result of preparing a message; null: preparing lasts until it is ended. Undefined: the channel prepares
   * nothing.
   */
  ready: ((upload: Upload) => Prepared | null) | undefined
  /** Which types a connection with these settings can send. Undefined: texts and pictures. */
  typesOf: ((settings: Handover['settings']) => Channel['capabilities']['types']) | undefined
  /** The rate-limit delay of the network; undefined: it has none. */
  delay: ((to: string, now: number) => RateLimitDelay | null) | undefined
  /** What happened to sessions, in order. Undefined: the channel has none. */
  sessions: string[] | undefined
  /** The sessions that are open now, by connection and worker. */
  readonly openSessions = new Map<string, HeldLane>()
  /** Closing a session waits for this; null: it does not wait. */
  closing: Promise<void> | null = null
  evidence: Evidence = { kind: 'nothing-yet' }
  evidenceWaitMs = 0
  readonly #workers: TestWorker[] = []

  constructor(storage: StorageWorld) {
    this.storage = storage
  }

  async startWorker(id: WorkerId, given: GivenWorker = {}): Promise<TestWorker> {
    const worker = new TestWorker(id, this, given)
    this.#workers.push(worker)
    await worker.dispatcher.start()
    return worker
  }

  /** Adds a sender whose lane belongs to `worker` when all in `among` are alive. */
  async addSenderOf(worker: WorkerId, among: readonly WorkerId[], policy: Partial<LanePolicy> = {}): Promise<Sender> {
    for (;;) {
      const sender = await addSender(this.storage, { policy })
      if (preferredWorker(sender.connectionId, among) === worker) return sender
      // Removed, because a number may be connected only once.
      await this.storage.administration.removeConnection(sender.connectionId, true, 'test')
    }
  }

  /** Accepts a message in another process, without a notification to the workers. */
  accept(sender: Sender, letter: Letter): Promise<MessageId> {
    return accept(this.storage, sender, typeof letter === 'string' ? { text: letter } : letter)
  }

  /** Accepts a message in the process of this worker. True if this worker is to send it. */
  async acceptAt({ dispatcher }: TestWorker, sender: Sender, letter: Letter): Promise<boolean> {
    return dispatcher.accepted(await this.#find(sender, await this.accept(sender, letter)))
  }

  /** Accepts a message whose attachment has been fetched already. */
  async acceptImage(sender: Sender, letter: Letter): Promise<MessageId> {
    const { mediaQueue, clock } = this.storage
    const given = typeof letter === 'string' ? { text: letter } : letter
    const id = await accept(this.storage, sender, { ...given, media: true })
    const message = await this.#find(sender, id)
    const file = { path: `spool/${message.sequence}`, sizeBytes: 1_000, sha256: '00', mime: 'image/png' }
    await mediaQueue.ready(message.sequence, { file, tookMs: 1, at: clock.now() })
    return id
  }

  /** Notifies all other workers. */
  notifyPeers(from: WorkerId, connectionId: ConnectionId): void {
    for (const { id, dispatcher } of this.#workers) if (id !== from) dispatcher.wake(connectionId)
  }

  pass(ms: number): Promise<void> {
    return this.storage.clock.pass(ms)
  }

  /** The call with this text. */
  callOf(text: string): Call {
    const call = this.calls.find((each) => each.text === text)
    if (!call) throw new Error(`no call with ${text}`)
    return call
  }

  /** The worker and text of each call, in order. */
  get sent(): readonly string[] {
    return this.calls.map(({ worker, text, number }) => `${worker}: ${text}${number === 1 ? '' : ` #${number}`}`)
  }

  eventsOf(worker: WorkerId, name: JournalEvent['event']): readonly JournalEvent[] {
    return this.events.filter((each) => each.worker === worker && each.event.event === name).map(({ event }) => event)
  }

  close(): Promise<void> {
    return this.storage.close()
  }

  async #find({ connectionId }: Sender, id: MessageId): Promise<QueuedMessage> {
    const message = (await this.storage.lanes.fetchNext(connectionId, 1_000, 0)).find((each) => each.id === id)
    if (!message) throw new Error('what was accepted is not in its lane')
    return message
  }
}

export class TestWorker {
  readonly id: WorkerId
  readonly dispatcher: Dispatcher
  #isDead = false

  constructor(id: WorkerId, world: DispatchWorld, given: GivenWorker) {
    const { lanes = world.storage.lanes, blocked = world.storage.blocked, pollEveryMs = 10_000 } = given
    this.id = id
    this.dispatcher = new Dispatcher({
      worker: id,
      lanes: this.#mortal(lanes),
      channels: new Map([['sandbox', this.#channel(world)]]),
      blocked,
      clock: world.storage.clock,
      journal: {
        record: (event) => {
          if (!this.#isDead) world.events.push({ worker: id, event })
        },
      },
      wantMedia: () => {},
      pollEveryMs,
      notifyPeers: (connectionId) => world.notifyPeers(id, connectionId),
    })
  }

  /** From now on nothing that the worker does has an effect, and nothing reaches it. */
  crash(): void {
    this.#isDead = true
  }

  #channel(world: DispatchWorld): Channel {
    const { typesOf } = world
    const capabilities: Channel['capabilities'] = {
      types: ['message', 'image'],
      maxTextLength: null,
      maxCaptionLength: null,
      recognisesRepeat: false,
      get evidenceWaitMs() {
        return world.evidenceWaitMs
      },
      callBudgetMs: 60_000,
    }
    return {
      name: 'sandbox',
      capabilities,
      ...(typesOf && { capabilitiesOf: (settings) => ({ ...capabilities, types: typesOf(settings) }) }),
      parseSettings: () => ({}),
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
      send: ({ content, attemptNumber }) =>
        new Promise((resolve) => {
          if (this.#isDead) return
          const text = textOf(content)
          const end = (outcome: Outcome) => {
            if (!this.#isDead) resolve(outcome)
          }
          const call = { worker: this.id, text, number: attemptNumber, end }
          world.calls.push(call)
          const answer = world.answer?.(call) ?? null
          if (answer) end(answer)
        }),
      reconcile: () => Promise.resolve(world.evidence),
      ...(world.ready && { prepare: (handover, signal) => this.#prepare(world, handover, signal) }),
      ...(world.sessions && { sessions: this.#sessions(world, world.sessions) }),
      ...(world.delay && { rateLimitDelayOf: ({ to }, now) => world.delay?.(to, now) ?? null }),
    }
  }

  #prepare(world: DispatchWorld, { content, settings }: Handover, signal: AbortSignal): Promise<Prepared> {
    return new Promise((resolve) => {
      if (this.#isDead) return
      const end = (prepared: Prepared) => {
        if (!this.#isDead) resolve(prepared)
      }
      const upload = { worker: this.id, text: textOf(content), settings, signal, end }
      world.uploads.push(upload)
      const prepared = world.ready?.(upload) ?? null
      if (prepared) end(prepared)
    })
  }

  /** The sessions of a channel: removing one also deletes what is stored. */
  #sessions(world: DispatchWorld, log: string[]): ChannelSessions {
    const nameOf = ({ connectionId }: { connectionId: ConnectionId }) => `${connectionId} ${this.id}`
    return {
      open: (lane) => {
        log.push(`${this.id}: open`)
        world.openSessions.set(nameOf(lane), lane)
      },
      requested: () => log.push(`${this.id}: requested`),
      close: async (lane, { remove }) => {
        log.push(`${this.id}: close`)
        await world.closing
        if (this.#isDead) return
        world.openSessions.delete(nameOf(lane))
        const found = remove ? await world.storage.sessions.find(lane) : null
        if (found) await world.storage.sessions.remove({ ...lane, holds: found.holds })
        log.push(`${this.id}: ${remove ? 'removed' : 'closed'}`)
      },
    }
  }

  #mortal(lanes: Lanes): Lanes {
    const unlessDead = <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) => {
      return (...given: Given) => (this.#isDead ? new Promise<Result>(() => {}) : call(...given))
    }
    return overrideLanes(lanes, {
      heartbeat: unlessDead((...given) => lanes.heartbeat(...given)),
      deleteLease: unlessDead((...given) => lanes.deleteLease(...given)),
      claim: unlessDead((...given) => lanes.claim(...given)),
      inspect: unlessDead((...given) => lanes.inspect(...given)),
      release: unlessDead((...given) => lanes.release(...given)),
      fetchNext: unlessDead((...given) => lanes.fetchNext(...given)),
      record: unlessDead((...given) => lanes.record(...given)),
      expire: unlessDead((...given) => lanes.expire(...given)),
    })
  }
}

function textOf(content: Handover['content']): string {
  return content.type === 'message' ? content.text : (content.caption ?? '')
}

export async function openDispatchWorld(): Promise<DispatchWorld> {
  return new DispatchWorld(await newSqliteWorld())
}

/** Opens Anna's lane and Ben's, with one message in each. */
export async function openTwoLanes(): Promise<{ world: DispatchWorld; annas: Sender; bens: Sender }> {
  const world = await openDispatchWorld()
  const [annas, bens] = [await world.addSenderOf(ANNA, BOTH), await world.addSenderOf(BEN, BOTH)]
  await world.accept(annas, 'for anna')
  await world.accept(bens, 'for ben')
  return { world, annas, bens }
}
