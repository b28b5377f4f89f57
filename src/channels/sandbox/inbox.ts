import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { MediaFile } from '../../core/message/message.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { ChannelMemory } from '../../core/ports/channel-memory.ts'
import type { MediaCopies } from './media-copies.ts'
import type { PlannedReceipt } from './receipts.ts'

const KIND = 'inbox'

/** One delivered message, as its recipient has it. Stored as JSON under the message's id. */
export interface InboxRecord {
  readonly to: string
  readonly type: string
  /** The text of a text message; null for media. */
  readonly text: string | null
  readonly caption: string | null
  readonly name: string | null
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly mime: string | null
  /**
   * A copy of the media; null for text, or when the copies' bound left no room for it. It may be gone by now, and lies on the
   * machine that delivered it: whoever shows it must do without it elsewhere.
   */
  readonly path: string | null
  /** What its network will report of it. Absent in what older versions delivered. */
  readonly receipts?: readonly PlannedReceipt[]
}

/** The recipients' phones: what is in here has been delivered, in this order. */
export class SandboxInbox {
  readonly #memory: ChannelMemory
  readonly #copies: MediaCopies

  constructor(memory: ChannelMemory, copies: MediaCopies) {
    this.#memory = memory
    this.#copies = copies
  }

  /** Durable when it resolves. */
  async deliver(handover: Handover, at: Instant, receipts: readonly PlannedReceipt[]): Promise<void> {
    const path = handover.media ? await this.#copies.keep(handover.messageId, handover.media) : null
    const key = entryKey(handover.messageId, handover.attemptNumber)
    await this.#memory.add(KIND, {
      connectionId: handover.connectionId,
      key,
      value: JSON.stringify({ ...toRecord(handover, path), ...(receipts.length > 0 && { receipts }) }),
      at,
    })
  }

  /** What this attempt delivered; null when it delivered nothing. */
  async find(connectionId: ConnectionId, messageId: MessageId, attemptNumber: number): Promise<InboxRecord | null> {
    const entry = await this.#memory.find(KIND, connectionId, entryKey(messageId, attemptNumber))
    return entry && (JSON.parse(entry.value) as InboxRecord)
  }
}

/** With the attempt's number, so that a message delivered twice is seen twice: an inbox that hides duplicates proves nothing. */
function entryKey(messageId: MessageId, attemptNumber: number): string {
  return `${messageId}#${attemptNumber}`
}

/** The sandbox's own id of a message. */
export function networkIdOf(messageId: MessageId): string {
  return `sandbox-${messageId}`
}

function toRecord({ to, content, media }: Handover, path: string | null): InboxRecord {
  const text = content.type === 'message' ? content.text : null
  const shown =
    content.type === 'message' ? { name: null, caption: null } : { name: content.name, caption: content.caption }
  return { to, type: content.type, text, ...shown, ...factsOf(media), path }
}

function factsOf(media: MediaFile | null): Pick<InboxRecord, 'sizeBytes' | 'sha256' | 'mime'> {
  return media
    ? { sizeBytes: media.sizeBytes, sha256: media.sha256, mime: media.mime }
    : { sizeBytes: null, sha256: null, mime: null }
}
