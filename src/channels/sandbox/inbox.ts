import type { Instant, MessageId } from '../../core/ids.ts'
import type { MediaFile } from '../../core/message/message.ts'
import type { Handover, OpenQuestion } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
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
   * machine that delivered it: on other machines it cannot be shown.
   */
  readonly path: string | null
  /** What its network will report of it. Absent when that is nothing. */
  readonly receipts?: readonly PlannedReceipt[]
}

interface Delivery {
  readonly at: Instant
  readonly receipts: readonly PlannedReceipt[]
  /** Asked right before the write, which stands for the wire. */
  readonly isWanted: () => boolean
}

/** The recipients' phones: what is in here has been delivered, in this order. */
export class SandboxInbox {
  readonly #memory: ChannelState
  readonly #copies: MediaCopies

  constructor(memory: ChannelState, copies: MediaCopies) {
    this.#memory = memory
    this.#copies = copies
  }

  /** The path of a copy that the inbox can show; null for text, or when there is no room for one. */
  async copyMedia({ messageId, media }: Handover): Promise<string | null> {
    return media ? this.#copies.keep(messageId, media) : null
  }

  /** Durable when it resolves. False: the attempt was no longer wanted, so nothing was delivered. */
  async deliver(handover: Handover, copy: string | null, delivery: Delivery): Promise<boolean> {
    const { at, receipts, isWanted } = delivery
    const key = entryKey(handover.messageId, handover.attemptNumber)
    return this.#memory.add(KIND, {
      connectionId: handover.connectionId,
      key,
      value: JSON.stringify({ ...toRecord(handover, copy), ...(receipts.length > 0 && { receipts }) }),
      at,
      isWanted,
    })
  }

  /**
   * What this attempt delivered; null when it delivered nothing and never will. Then its place in the inbox is taken, so that a
   * write of it which is still on its way to the database fails.
   */
  async settle({ connectionId, messageId, attemptNumber }: OpenQuestion, at: Instant): Promise<InboxRecord | null> {
    const key = entryKey(messageId, attemptNumber)
    if (await this.#memory.add(KIND, { connectionId, key, value: NEVER_DELIVERED, at })) return null
    const entry = await this.#memory.find(KIND, connectionId, key)
    return entry && readInboxEntry(entry.value)
  }
}

const NEVER_DELIVERED = JSON.stringify(null)

/** Null for the place of a delivery that was never made. */
export function readInboxEntry(value: string): InboxRecord | null {
  return JSON.parse(value) as InboxRecord | null
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
