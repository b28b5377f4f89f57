import type { AccountId, ConnectionId, Instant, MessageId } from '../ids.ts'
import type { MediaFile, MessageContent, MessageType } from '../message/message.ts'
import type { ReasonCode } from '../reasons.ts'

/** What a channel can do, as positive statements. */
export interface ChannelCapabilities {
  readonly types: readonly MessageType[]
  /** Most code points of a caption and of a text; null means the contract's own limit holds. */
  readonly maxTextLength: number | null
  readonly maxCaptionLength: number | null
  /** True when the network recognises a repeat by an id of ours, so that handing over twice has one effect (G5). */
  readonly recognisesRepeat: boolean
  /** How long evidence about an unknown attempt may take to arrive, in milliseconds. 0: there is never any. */
  readonly evidenceWaitMs: number
  /** Longest time one `send` may take before it is aborted and counts as unknown, in milliseconds. */
  readonly callBudgetMs: number
}

/** One message, handed over to a channel. */
export interface Handover {
  readonly messageId: MessageId
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  /** The sender number. */
  readonly from: string
  readonly to: string
  readonly content: MessageContent
  /** The attachment, complete on disk; null for text. */
  readonly media: MediaFile | null
  /** 1 for the first attempt. */
  readonly attemptNumber: number
  readonly startedAt: Instant
  /** The connection's own settings for this channel, already checked by the channel's `parseSettings`. */
  readonly settings: Readonly<Record<string, unknown>>
}

/**
 * What the lane does after a failure. `permanent`: the message fails. `transient`: the message is retried. `connection`: the
 * whole lane waits. `recipient`: only messages to this recipient wait, for `retryAfterMs` (a minute if null). The last two do
 * not count as a try of the message.
 */
type FailureClass = 'permanent' | 'transient' | 'connection' | 'recipient'

/** Why an attempt or its preparation failed. */
export interface Failure {
  readonly class: FailureClass
  readonly code: ReasonCode
  /** The network's own words; null when it said none. */
  readonly words: string | null
  /**
   * Only for `transient`: true when the cause may lie with the network rather than with this message (unreachable,
   * 5xx). If it continues, the lane treats it as the connection's own failure.
   */
  readonly suspectsNetwork: boolean
  /** Milliseconds the network asked us to wait; null when it did not. */
  readonly retryAfterMs: number | null
}

/** The outcome of an attempt. `rejected` means certainly not sent; a channel that cannot guarantee that must return `unknown`. */
export type Outcome = (
  | { readonly kind: 'accepted'; readonly networkId: string }
  | { readonly kind: 'rejected'; readonly failure: Failure }
  | { readonly kind: 'unknown'; readonly words: string }
) & { readonly sentAs?: SentAs }

/** In which form a message was handed over, where its content alone does not say that. */
export interface SentAs {
  /** The template that stood in for the message, such as `notice (en_US)`. */
  readonly template?: string
  /** The media type under which its file was uploaded. */
  readonly uploadedAs?: string
}

/** What a channel can say later about an attempt whose outcome is unknown. */
export type Evidence =
  | { readonly kind: 'accepted'; readonly networkId: string }
  | { readonly kind: 'not-sent'; readonly words: string }
  /** Nothing yet; asking again within `evidenceWaitMs` may help. */
  | { readonly kind: 'nothing-yet' }
  /** Nothing, and there never will be any. */
  | { readonly kind: 'nothing-ever' }

/** The attempt that a channel is asked about. */
export interface OpenQuestion {
  readonly messageId: MessageId
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly to: string
  readonly attemptNumber: number
  readonly startedAt: Instant
}

/** A report of the network about a message it took earlier. */
export interface Receipt {
  /** The connection of the message. A report never applies to a message of another connection. */
  readonly connectionId: ConnectionId
  /**
   * Null: the network names only its own id, and `networkId` identifies the message. Such a report finds only final messages, and
   * only with ids that storage has an index of (the index of network ids in `schema.sql`).
   */
  readonly messageId: MessageId | null
  /** The attempt that it is about; null when unknown. A failure of an earlier attempt says nothing about a later one. */
  readonly attemptNumber: number | null
  /**
   * `sent`: the network has accepted it; the answer to the call was lost. `unreadable`: a device of the recipient could not decrypt
   * it, and it was sent again to that device alone.
   */
  readonly kind: 'sent' | 'delivered' | 'read' | 'failed' | 'unreadable'
  readonly at: Instant
  /** The network's own id of the message; null when it names none. Kept for a message that has none yet. */
  readonly networkId: string | null
  /** For `failed`, and the network's words. */
  readonly code: ReasonCode | null
  readonly words: string | null
}

/**
 * `too-early`: the attempt of the report is still open, so the report must be applied again later.
 * `applied`: the report is done, even if it said nothing new or was only stored.
 * `contradicted`, `second-id`: the same, but the network has reported the opposite of this attempt, or knows it by another id.
 */
export type ReceiptEnd = 'applied' | 'contradicted' | 'second-id' | 'too-early' | 'message-unknown'

/** What a channel reports to the service by itself. */
export interface ChannelEvents {
  /** Resolves once the receipt is committed, however long its attempt stays open. */
  receipt(receipt: Receipt): Promise<void>
  /** Tries once. Rejects when nothing could be committed. */
  offerReceipt(receipt: Receipt): Promise<ReceiptEnd>
  /**
   * Puts a new message at the end of the line that repeats one which FAILED for this reason, and links the two. Resolves
   * with its id; null when that message is not FAILED or for another reason, was sent again already, or its connection is
   * gone. Harmless twice.
   */
  sendAgain(failed: {
    readonly connectionId: ConnectionId
    readonly messageId: MessageId
    /** A code of core/reasons.ts. */
    readonly reason: string
  }): Promise<MessageId | null>
}

/** True while no other worker can have taken the lane of this call. */
export type StillHolds = () => boolean

/** The result of a preparation. */
export type Prepared = { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly failure: Failure }

/** Until when the network accepts no message of this kind, so that none is tried. */
export interface RateLimitDelay {
  /** Whether it concerns all messages of the connection, or only those to this recipient. */
  readonly scope: 'connection' | 'recipient'
  readonly until: Instant
  readonly reason: ReasonCode
  readonly words: string | null
}

/** The lane of a connection, as its session needs to know it. */
export interface HeldLane {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  /** The sender number. */
  readonly number: string
  readonly epoch: number
  /** Must be checked right before anything is written to the network, as in `send`. */
  readonly stillHolds: StillHolds
}

/**
 * Sessions that stay open with nothing to send. This worker alone has the session of a connection while it holds the lane: the
 * lane is kept, also while the connection is paused, and released only after the session was closed.
 */
export interface ChannelSessions {
  /** Lets the channel open the session. Returns at once and never throws. Called again for a connection only after `close`. */
  open(lane: HeldLane): void
  /** A person has made a request about an open session: see `SessionStore.findRequest`. Harmless more than once. */
  requested(connectionId: ConnectionId): void
  /**
   * Resolves once the session can write nothing more, within 2 s. With `remove` the connection was removed: the device is
   * unlinked and the stored session removed, also when the session was never opened. That may take a minute, because the device
   * has to log in for it. `signal` ends the wait; what is stored then stays for the next owner of the lane. Never rejects;
   * harmless for one that is not open.
   */
  close(lane: HeldLane, how: { readonly remove: boolean; readonly signal: AbortSignal }): Promise<void>
}

/** A network that messages can be sent over: one object per process, for all its connections. */
export interface Channel {
  readonly name: string
  /** The most that a connection can do, whatever its settings. */
  readonly capabilities: ChannelCapabilities
  /** What a connection with these settings can do. Pure. Left out where all can do the same. */
  capabilitiesOf?(settings: Readonly<Record<string, unknown>>): ChannelCapabilities
  /**
   * Checks a connection's settings for this channel as text pairs (from the CLI or a form).
   * Throws a Refusal that names the setting and how to correct it.
   */
  parseSettings(given: Readonly<Record<string, string>>): Readonly<Record<string, unknown>>
  start(events: ChannelEvents): Promise<void>
  /** Harmless twice or before start. */
  stop(): Promise<void>
  /** Left out where a connection has no session. */
  readonly sessions?: ChannelSessions
  /** False while this process cannot serve the channel, though another may: lanes are left to others. Left out where it always can. */
  isAvailable?(): boolean
  /**
   * Prepares a message with an attachment before its attempt starts: it uploads, so that only the small last call can have an
   * unknown result. Repeating it is harmless, and quick when it was done before. Left out where no preparation is needed.
   * Never throws; ends soon when `signal` aborts, with any failure.
   */
  prepare?(handover: Handover, signal: AbortSignal): Promise<Prepared>
  /**
   * Until when the network's rate limit delays this message; null when it may go now. Called right before each attempt
   * starts, so it must be quick and answer from memory. Left out where the network has no rate limit.
   */
  rateLimitDelayOf?(
    next: Pick<Handover, 'accountId' | 'connectionId' | 'to' | 'content' | 'settings'>,
    now: Instant,
  ): RateLimitDelay | null
  /**
   * One wire attempt. Never throws and never repeats by itself. When `signal` aborts it must end soon; what it
   * returns then says whether the message may have left.
   *
   * `stillHolds` must be checked right before the irreversible call, after everything that waits: once it is false,
   * nothing may be sent. After a suspended process resumes, all its timers are due at once, and the one that aborts the
   * signal may run last (G6).
   */
  send(handover: Handover, signal: AbortSignal, stillHolds: StillHolds): Promise<Outcome>
  /** Searches for evidence about an attempt with an unknown outcome. Never throws, changes nothing outside. */
  reconcile(open: OpenQuestion): Promise<Evidence>
}
