import { randomBytes } from 'node:crypto'
import type { LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { ConnectionId, MessageId } from '../../src/core/ids.ts'
import type { QueuedMessage, Sequence } from '../../src/core/message/message.ts'
import type { Channel, Receipt } from '../../src/core/ports/channel.ts'
import type { Journal, JournalEvent } from '../../src/core/ports/journal.ts'
import type { Lanes } from '../../src/core/ports/lanes.ts'
import { deliverReceipt } from '../../src/server/wiring/channel-events.ts'
import { BacklogReferee } from './backlog-referee.ts'
import { FaultyLanes, type StorageFaults } from './faulty-lanes.ts'
import { Random } from './random.ts'
import { Referee } from './referee.ts'
import { Schedule } from './schedule.ts'
import { SimulatedMachine } from './simulated-machine.ts'
import { type NetworkFaults, SimulatedNetwork } from './simulated-network.ts'
import { SimulatedStorage } from './simulated-storage.ts'
import { SimulatedUploads, type UploadFaults } from './simulated-uploads.ts'
import { SimulatedWorker } from './simulated-worker.ts'
import { Trace } from './trace.ts'
import { UploadReferee } from './upload-referee.ts'

const STARTS_AT = Date.UTC(2026, 0, 15, 12)

/** A way to build a faulty dispatcher or engine, to see that the referee notices. */
export interface Breakage {
  readonly lanes?: (lanes: Lanes, storage: SimulatedStorage, worker: string) => Lanes
  readonly channel?: (channel: Channel) => Channel
  /** Patches something until the returned function is called. */
  readonly patch?: () => () => void
  /** Makes those errors frequent in which the mistake shows. */
  readonly aggravate?: (world: SimulatedWorld) => void
  /** The invariant that must break, if another one could break as well. */
  readonly breaks?: string
}

export interface SimulatedConnection {
  readonly id: ConnectionId
  readonly accountNumber: number
  readonly number: string
  readonly network: string
}

/** One simulated run: storage, networks, machines, and the referee. */
export class SimulatedWorld {
  readonly random: Random
  readonly schedule = new Schedule(STARTS_AT)
  readonly trace = new Trace(() => this.schedule.now)
  readonly storage: SimulatedStorage
  readonly network: SimulatedNetwork
  readonly uploads: SimulatedUploads
  readonly referee: Referee
  readonly uploadReferee: UploadReferee
  readonly backlogReferee: BacklogReferee
  readonly storageFaults: StorageFaults = { failsBefore: 0, failsAfter: 0, slow: 0, verySlow: 0, awayUntil: 0 }
  readonly networkFaults: NetworkFaults = { weights: {}, busyRecipients: 0, freezes: 0, reports: 0 }
  readonly uploadFaults: UploadFaults = { weights: {}, rests: 0, recipientRests: 0 }
  /** Few recipients, so that each gets many messages, whose order can then be checked. */
  readonly load = { recipientsOfEach: 4, timesAsMany: 1 }
  readonly connections: SimulatedConnection[] = []
  workers: SimulatedWorker[] = []
  readonly #breakage: Breakage
  readonly #main: SimulatedMachine
  readonly #notified: Random
  #workersMade = 0

  constructor(seed: number, breakage: Breakage) {
    this.#breakage = breakage
    this.random = new Random(seed)
    this.#notified = this.random.fork('told')
    this.#main = new SimulatedMachine('main', this.schedule, this.random.fork('main'))
    this.storage = new SimulatedStorage(this.#main.clock)
    const { database } = this.storage
    this.referee = new Referee({
      database,
      network: () => this.network,
      uploads: () => this.uploads,
      trace: this.trace,
      now: () => this.schedule.now,
    })
    const nameOf = (id: MessageId) => this.referee.nameOf(id)
    this.uploadReferee = new UploadReferee({ database, uploads: () => this.uploads, trace: this.trace, nameOf })
    this.backlogReferee = new BacklogReferee({ database, trace: this.trace, nameOf })
    this.uploads = new SimulatedUploads({
      schedule: this.schedule,
      random: this.random.fork('uploads'),
      faults: this.uploadFaults,
      onUpload: (upload) => this.uploadReferee.onUpload(upload),
      onCrash: (machine) => this.#crash(machine),
      note: (who, what) => this.trace.note(who, what),
      nameOf,
    })
    this.network = new SimulatedNetwork({
      schedule: this.schedule,
      random: this.random.fork('network'),
      faults: this.networkFaults,
      uploads: this.uploads,
      onCall: (call, kind) => {
        this.referee.onCall(call, kind)
        this.uploadReferee.onCall(call, kind)
        this.backlogReferee.onCall(call)
      },
      onEffect: (call, kind) => this.referee.onEffect(call, kind),
      onReceipt: (receipt) => this.#bringReceipt(receipt),
      note: (who, what) => this.trace.note(who, what),
      nameOf,
      hasFrozenWorkers: () => this.workers.some((worker) => worker.machine.isPaused),
    })
  }

  addConnection(connection: SimulatedConnection, policy: LanePolicy): void {
    const { database } = this.storage
    const { accountNumber, id } = connection
    database
      .prepare('insert or ignore into account (id, name, created_at) values (?, ?, 0)')
      .run(`acc_${accountNumber}`, `Account ${accountNumber}`)
    database
      .prepare(
        `insert or ignore into token (id, account_id, name, sha256, prefix, events, created_at, expires_at)
           values (?, ?, 'token', ?, 'prefix', '["messaging.send_message"]', 0, 9e15)`,
      )
      .run(`tok_${accountNumber}`, `acc_${accountNumber}`, randomBytes(32))
    database
      .prepare(
        `insert into connection (id, account_id, number, channel, state, policy, channel_settings, created_at)
           values (?, ?, ?, ?, 'active', ?, '{}', 0)`,
      )
      .run(id, `acc_${accountNumber}`, connection.number, connection.network, JSON.stringify(policy))
    this.connections.push(connection)
    if (policy.onUnconfirmed === 'resend') this.referee.mayResend.add(id)
    this.trace.note('world', `${id} on ${connection.network}: ${JSON.stringify(policy)}`)
  }

  startWorker(): SimulatedWorker {
    this.#workersMade += 1
    const name = `w${this.#workersMade}`
    const machine = new SimulatedMachine(name, this.schedule, this.random.fork(name))
    const line = new FaultyLanes({
      inner: this.storage.storage.lanes,
      machine,
      schedule: this.schedule,
      random: this.random.fork(`line of ${name}`),
      faults: this.storageFaults,
      trace: this.trace,
    })
    const broken = this.#breakage.channel
    const channels = this.network.channelsFor(machine)
    const worker = new SimulatedWorker({
      machine,
      line,
      lanes: this.#breakage.lanes?.(line, this.storage, name) ?? line,
      channels: broken ? new Map([...channels].map(([key, channel]) => [key, broken(channel)])) : channels,
      journal: this.#journal(machine),
      notifyPeers: (id) => this.notify(id, 'wake', this.#notified),
    })
    this.workers.push(worker)
    this.trace.note(name, 'starts')
    worker.start()
    return worker
  }

  /** Ends a worker in any state, and starts another one in its place later. */
  replace(worker: SimulatedWorker, afterMs: number, how: string): void {
    if (this.remove(worker, how)) this.schedule.after(afterMs, () => this.startWorker())
  }

  /** Ends a worker for good. False when it has ended before. */
  remove(worker: SimulatedWorker, how: string): boolean {
    if (worker.machine.isDead) return false
    this.trace.note(worker.machine.name, how)
    worker.machine.crash()
    this.workers = this.workers.filter((each) => each !== worker)
    return true
  }

  /** Notifies some of the workers, as a lost notification would reach only some of them. */
  notify(connectionId: ConnectionId, how: 'wake' | 'change', random: Random): void {
    for (const worker of this.workers) if (random.chance(0.7)) worker[how](connectionId)
  }

  /** Notifies some of the workers that a file has arrived, or will not. */
  notifyOfMedia(connectionId: ConnectionId, sequence: Sequence, random: Random): void {
    for (const worker of this.workers) if (random.chance(0.7)) worker.mediaSettled(connectionId, sequence)
  }

  /** Notifies some workers of a message; some of them have accepted it themselves. */
  notifyOf(message: QueuedMessage, random: Random): void {
    for (const worker of this.workers) {
      if (!random.chance(0.7)) continue
      if (message.media === null && random.chance(0.5)) worker.accepted(message)
      else worker.wake(message.connectionId)
    }
  }

  #crash(machine: SimulatedMachine): void {
    const worker = this.workers.find((each) => each.machine === machine)
    if (!worker) return
    this.referee.outcomesMayBeLost = true
    this.replace(worker, 5_000, 'crashes while it uploads')
  }

  #bringReceipt(receipt: Receipt): void {
    const name = receipt.messageId === null ? '' : this.referee.nameOf(receipt.messageId)
    const bring = deliverReceipt(
      { applyReceipt: (each) => this.schedule.work(() => this.storage.storage.lanes.applyReceipt(each)) },
      this.#main.clock,
    )
    bring(receipt).then(
      () => this.trace.note('network', `reports ${name} ${receipt.kind}`),
      () => this.trace.note('network', `gives its report of ${name} up`),
    )
  }

  #journal(machine: SimulatedMachine): Journal {
    return {
      record: (event) => {
        if (event.event === 'fault')
          this.trace.violate('no faults', `${machine.name} ${event.where}: ${String(event.error)}`)
        if (event.event === 'storage.unavailable') return
        this.trace.note(
          machine.name,
          describe(event, (id) => this.referee.nameOf(id)),
        )
      },
    }
  }
}

function describe(event: JournalEvent, nameOf: (id: MessageId) => string): string {
  const facts = Object.entries(event).map(([key, value]) => {
    if (key === 'event') return String(value)
    if (key === 'messageId') return nameOf(value as MessageId)
    return key === 'channel' || key === 'tookMs' ? '' : `${key}=${String(value)}`
  })
  return facts.filter(Boolean).join(' ')
}
