import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import { attemptIdOf } from './protocol.ts'

export const REJECTED_KIND = 'rejected'
// Longer than gateways report about a message.
const KEPT_MS = 7 * 24 * 3_600_000

interface Attempt {
  readonly connectionId: ConnectionId
  readonly messageId: MessageId
  readonly attemptNumber: number
}

/**
 * Attempts that the adapter said have not left and never will. A later report that one of them arrived shows that the adapter
 * has broken this promise, and that messages may arrive twice.
 */
export class RejectedAttempts {
  readonly #memory: ChannelState

  constructor(memory: ChannelState) {
    this.#memory = memory
  }

  /** Durable when it resolves. Harmless twice. */
  async keep(attempt: Attempt, now: Instant): Promise<void> {
    const { connectionId } = attempt
    const entry = { connectionId, key: attemptIdOf(attempt), value: '', at: now, remindAt: now + KEPT_MS }
    await this.#memory.add(REJECTED_KIND, entry)
  }

  async has(attempt: Attempt): Promise<boolean> {
    return (await this.#memory.find(REJECTED_KIND, attempt.connectionId, attemptIdOf(attempt))) !== null
  }
}
