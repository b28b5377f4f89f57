import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'

export const REPEAT_KIND = 'repeat'
// Longer than Meta tries to deliver a message, and to report of it.
const KEPT_MS = 38 * 24 * 3_600_000

/**
 * Messages that must not be sent again: those that were, because their refusal may be reported once more in other words; and
 * their repeats. A repeat may be refused for the same reason, if Meta knows the recipient by another number than we do, and
 * would otherwise be repeated for ever.
 */
export class Repeats {
  readonly #memory: ChannelState

  constructor(memory: ChannelState) {
    this.#memory = memory
  }

  /** Durable when it resolves. Harmless twice. */
  async keep(connectionId: ConnectionId, messageId: MessageId, now: Instant): Promise<void> {
    const entry = { connectionId, key: messageId, value: '', at: now, remindAt: now + KEPT_MS }
    await this.#memory.add(REPEAT_KIND, entry)
  }

  async has(connectionId: ConnectionId, messageId: MessageId): Promise<boolean> {
    return (await this.#memory.find(REPEAT_KIND, connectionId, messageId)) !== null
  }
}
