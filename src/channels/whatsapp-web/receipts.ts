import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import { type ReportOf, ReportQueue } from '../receipts/report-queue.ts'
import type { Attempts } from './attempts.ts'
import { WHATSAPP_WEB } from './name.ts'
import type { SocketReceipt } from './thread/messages.ts'
import { wireIdOf } from './wire-id.ts'

interface ReceiptsParts {
  readonly memory: ChannelState
  readonly clock: Clock
  readonly attempts: Attempts
  readonly note: (event: JournalEvent) => void
}

interface MessageReceipt extends Pick<SocketReceipt, 'kind' | 'at'> {
  readonly messageId: MessageId
}

/** What WhatsApp reports about messages: stored before it is acknowledged, and then applied by whichever worker. */
export class Receipts {
  readonly #parts: ReceiptsParts
  readonly #queue: ReportQueue<MessageReceipt>

  constructor(parts: ReceiptsParts) {
    const { memory, clock, note } = parts
    this.#parts = parts
    this.#queue = new ReportQueue({
      memory,
      clock,
      apply: (report, events) => this.#apply(report, events),
      read: (value) => value as MessageReceipt,
      onGivenUp: ({ kind }) => note({ event: 'callback.applied', channel: WHATSAPP_WEB, kind, end: 'given-up' }),
    })
  }

  start(events: ChannelEvents): void {
    this.#queue.start(events)
  }

  stop(): Promise<void> {
    return this.#queue.stop()
  }

  /** Durable when it resolves. What is about no message of ours is not kept. */
  async keep(connectionId: ConnectionId, { wireIds, kind, at }: SocketReceipt): Promise<void> {
    const messageIds = await this.#parts.attempts.findMessages(connectionId, wireIds)
    if (messageIds.length === 0) return
    await this.#queue.store(
      connectionId,
      messageIds.map((messageId) => ({ messageId, kind, at })),
    )
  }

  async #apply(
    { connectionId, report, receivedAt }: ReportOf<MessageReceipt>,
    events: ChannelEvents,
  ): Promise<'done' | 'later'> {
    const { attempts, clock, note } = this.#parts
    const { messageId, kind, at } = report
    const end = await events.offerReceipt({
      connectionId,
      messageId,
      // The id is the same for each attempt.
      attemptNumber: null,
      kind,
      at: Math.min(at ?? receivedAt, receivedAt),
      networkId: wireIdOf({ connectionId, messageId }),
      code: null,
      words: null,
    })
    if (end !== 'too-early') {
      note({ event: 'callback.applied', channel: WHATSAPP_WEB, kind, end })
      return 'done'
    }
    // The result of the open attempt is not known yet. But now there is evidence of it (G5).
    await attempts.keepTaken(connectionId, messageId, clock.now())
    return 'later'
  }
}
