import { Dispatcher } from '../../src/core/dispatch/workers/dispatcher.ts'
import type { ConnectionId, WorkerId } from '../../src/core/ids.ts'
import type { QueuedMessage, Sequence } from '../../src/core/message/message.ts'
import type { Channel } from '../../src/core/ports/channel.ts'
import type { Journal } from '../../src/core/ports/journal.ts'
import type { Lanes } from '../../src/core/ports/lanes.ts'
import type { FaultyLanes } from './faulty-lanes.ts'
import type { SimulatedMachine } from './simulated-machine.ts'

/** One worker: the real dispatcher on a simulated machine. */
export class SimulatedWorker {
  readonly machine: SimulatedMachine
  readonly line: FaultyLanes
  readonly #dispatcher: Dispatcher

  constructor(parts: {
    machine: SimulatedMachine
    line: FaultyLanes
    lanes: Lanes
    channels: ReadonlyMap<string, Channel>
    journal: Journal
    notifyPeers: (connectionId: ConnectionId) => void
  }) {
    const { machine, lanes, channels, journal, notifyPeers } = parts
    this.machine = machine
    this.line = parts.line
    this.#dispatcher = new Dispatcher({
      blocked: { isBlocked: () => false },
      worker: machine.name as WorkerId,
      lanes,
      channels,
      clock: machine.clock,
      journal,
      wantMedia: () => {},
      pollEveryMs: 10_000,
      notifyPeers,
    })
  }

  start(): void {
    void this.#dispatcher.start()
  }

  /** Notifies the worker of a message as if it had accepted it itself. */
  accepted(message: QueuedMessage): void {
    this.machine.deliver(() => this.#dispatcher.accepted(message))
  }

  wake(connectionId: ConnectionId): void {
    this.machine.deliver(() => this.#dispatcher.wake(connectionId))
  }

  change(connectionId: ConnectionId): void {
    this.machine.deliver(() => this.#dispatcher.change([connectionId]))
  }

  mediaSettled(connectionId: ConnectionId, sequence: Sequence): void {
    this.machine.deliver(() => this.#dispatcher.mediaSettled(connectionId, sequence))
  }

  dropClaim(connectionId: ConnectionId): void {
    this.machine.deliver(() => this.#dispatcher.dropClaim(connectionId))
  }

  /** Calls back after the worker has stopped in order, which it may never do. */
  stop(graceMs: number, onStopped: () => void): void {
    this.machine.deliver(() => void this.#dispatcher.stop(graceMs).then(() => this.machine.deliver(onStopped)))
  }
}
