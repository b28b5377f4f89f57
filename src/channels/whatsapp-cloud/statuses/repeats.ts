import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'

export const REPEAT_KIND = 'repeat'
// Longer than Meta tries to deliver a message, and to report of it.
const KEPT_MS = 38 * 24 * 3_600_000

/**
 * Messages that are not to be repeated: those that were, however often their refusal is reported in other words, and those that
 * are themselves the repeat of one that was refused. Is such a one refused for the same reason, because Meta
 * knows the recipient by another number than we do, then it is not repeated: that would go on for ever.
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
