import type { AccountId, ConnectionId, Instant, MessageId } from '../ids.ts'

export const MEDIA_TYPES = ['image', 'document', 'video', 'audio'] as const
export type MediaType = (typeof MEDIA_TYPES)[number]
export const MESSAGE_TYPES = ['message', ...MEDIA_TYPES] as const
/** `message` is plain text: the word is the contract's. */
export type MessageType = (typeof MESSAGE_TYPES)[number]

interface TextContent {
  readonly type: 'message'
  readonly text: string
}

export interface MediaContent {
  readonly type: MediaType
  /** File name as shown to the recipient, with extension. */
  readonly name: string
  readonly url: string
  /** Null means no caption. Always null for audio. */
  readonly caption: string | null
}

export type MessageContent = TextContent | MediaContent

export const MESSAGE_STATES = [
  'QUEUED',
  'SENDING',
  'PUBLISHED',
  'DELIVERED',
  'READ',
  'FAILED',
  'UNCONFIRMED',
  'EXPIRED',
  'CANCELLED',
] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** The states a message never leaves by a worker's doing. Later evidence may still move some of them forward. */
export type SettledState = Exclude<MessageState, 'QUEUED' | 'SENDING'>

/** The place of a message in the order of acceptance of the whole installation. Grows; gaps are allowed. */
export type Sequence = number

/** A message that waits in a lane, as the dispatcher needs it. */
export interface QueuedMessage {
  readonly sequence: Sequence
  readonly id: MessageId
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly recipient: string
  readonly acceptedAt: Instant
  /** Attempts made so far; the next one has this number plus one. */
  readonly attempts: number
  /** Null when the stored text no longer matches its checksum: it must not be sent. */
  readonly content: MessageContent | null
  /** Null for text. */
  readonly media: MediaState | null
  /** Null as long as it has not failed, and has waited for nothing of its own except its file. */
  readonly retry: RetryState | null
}

/** What a lane keeps of a message between its attempts. It survives restarts. */
export interface RetryState {
  /** Failures counted against this message. */
  readonly tries: number
  /** True when it was sent once more although the first one may have arrived. */
  readonly resent: boolean
  /** How often a worker died while this message was open, over all its attempts. */
  readonly crashes: number
  /** What it waits for now; null when nothing. */
  readonly wait: OwnWait | null
}

/** A wait of one message: only later messages to the same recipient wait behind it. */
export type OwnWait = Wait & OwnWaitKind

/** Only a wait for a retry holds until its end. The others are checked again at each decision. */
type OwnWaitKind =
  | { readonly kind: 'retry' }
  /** `since`: when it began, because several may follow each other. A retry waits from the end of the attempt before. */
  | { readonly kind: 'rate-limit' | 'upload'; readonly since: Instant }

interface Wait {
  /** A code of core/reasons.ts. */
  readonly reason: string
  /** The network's own words; null when it said none. */
  readonly words: string | null
  readonly until: Instant
}

/** Messages with the same key go in the order of their acceptance. */
export function recipientKey({ recipient }: Pick<QueuedMessage, 'recipient'>): string {
  return recipient
}

/** What is known of a message's attachment. */
export type MediaState =
  | { readonly kind: 'pending'; readonly tries: number; readonly nextTryAt: Instant; readonly lastWords: string | null }
  | { readonly kind: 'ready'; readonly file: MediaFile }

/** An attachment in the spool, complete and checked. */
export interface MediaFile {
  /** Absolute path of the spool file. */
  readonly path: string
  readonly sizeBytes: number
  /** Lower-case hexadecimal. */
  readonly sha256: string
  /** Detected from the bytes; `application/octet-stream` for a document of an unknown format. */
  readonly mime: string
}
