import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { Evidence, OpenQuestion } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'

type AskedAttempt = Pick<OpenQuestion, 'connectionId' | 'messageId' | 'attemptNumber'>

export const ECHO_KIND = 'echo'
// Evidence is asked for within minutes. A day covers a service that stood still over night.
const KEPT_MS = 24 * 3_600_000

/**
 * Attempts about which a report came while their own call was still open: the network has taken them, whatever becomes of
 * the call. Stored, because another worker may have made the call, and may be dead.
 */
export class Echoes {
  readonly #memory: ChannelState

  constructor(memory: ChannelState) {
    this.#memory = memory
  }

  /** Durable when it resolves. Harmless twice. */
  async keep(
    connectionId: ConnectionId,
    attempt: { readonly messageId: MessageId; readonly attemptNumber: number },
    { networkId, now }: { readonly networkId: string; readonly now: Instant },
  ): Promise<void> {
    const key = keyOf(attempt.messageId, attempt.attemptNumber)
    await this.#memory.add(ECHO_KIND, { connectionId, key, value: networkId, at: now, remindAt: now + KEPT_MS })
  }

  /** The evidence of a report about an attempt. */
  async find({ connectionId, messageId, attemptNumber }: AskedAttempt): Promise<Evidence> {
    const entry = await this.#memory.find(ECHO_KIND, connectionId, keyOf(messageId, attemptNumber))
    return entry ? { kind: 'accepted', networkId: entry.value } : { kind: 'nothing-yet' }
  }
}

function keyOf(messageId: string, attemptNumber: number): string {
  return `${messageId}#${attemptNumber}`
}
