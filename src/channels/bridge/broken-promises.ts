import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import { BROKEN_PROMISE_KIND } from '../../core/ports/watch.ts'
import type { BrokenPromise } from '../../core/reasons/bridge.ts'

export const PROMISE_KIND = BROKEN_PROMISE_KIND.slice('bridge.'.length)
// An adapter that keeps breaking a promise is noted again after this time, so the alarm stays and is announced once a day.
const KEPT_MS = 24 * 3_600_000

interface PromiseParts {
  readonly memory: ChannelState
  readonly clock: Clock
  readonly note: (event: JournalEvent) => void
}

interface Attempt {
  readonly connectionId: ConnectionId
  readonly messageId: MessageId
  readonly attemptNumber: number
}

/** What adapters did that the protocol forbids. One row for each connection and promise, so a bad adapter fills no table. */
export class BrokenPromises {
  readonly #parts: PromiseParts

  constructor(parts: PromiseParts) {
    this.#parts = parts
  }

  /** Durable when it resolves. Harmless twice. */
  async keep(promise: BrokenPromise, { connectionId, messageId, attemptNumber }: Attempt): Promise<void> {
    const { memory, clock, note } = this.#parts
    note({ event: 'bridge.promise_broken', promise, connectionId, messageId, number: attemptNumber })
    const at = clock.now()
    await memory.add(PROMISE_KIND, { connectionId, key: promise, value: messageId, at, remindAt: at + KEPT_MS })
  }
}
