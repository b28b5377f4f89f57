import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant, MessageId } from '../../ids.ts'
import type { EarlierMessage } from '../../message/earlier-message.ts'
import type { MessageType } from '../../message/message.ts'
import type { ResendFacts } from '../../message/resend-facts.ts'
import type { TakenOut } from '../../message/taken-out.ts'
import type { Actor, ConnectionChange, MessageView, NetworkCheck, NetworkLink } from '../administration.ts'

/** Exact while it is small. `isMore`: at least so many. */
export interface BoundedCount {
  readonly count: number
  readonly isMore: boolean
}

/** Why a lane stands still. */
export interface StandsStill {
  /** A code of core/reasons.ts. */
  readonly reason: string
  readonly words: string | null
  readonly until: Instant | null
  /** Whether `endWait` may end it. */
  readonly canBeEnded: boolean
}

/** How fast a lane was, measured on the messages before its head, or on the newest ones, as far back as a quick scan reaches. */
export interface MeasuredPace {
  readonly publishedInLastMinute: BoundedCount
  /** Null when none was found. */
  readonly lastPublishedAt: Instant | null
  /** Between two that were published in the last minute, on average; null when there were no two. */
  readonly perMessageMs: number | null
}

/**
 * In the order of a list. `problem`: it waits for something that its owner did not set; `waiting`: it sends, or waits by its
 * own settings.
 */
export const LANE_GROUPS = ['problem', 'paused', 'waiting', 'ready'] as const
export type LaneGroup = (typeof LANE_GROUPS)[number]

/** A connection with the status of its lane. What takes long to count is not counted. */
export interface LaneOverview {
  readonly id: ConnectionId
  readonly number: string
  /** What people call it; null: it has no name. */
  readonly name: string | null
  readonly channel: string
  readonly state: 'active' | 'paused'
  readonly policy: LanePolicy
  /** Secrets sealed. */
  readonly channelSettings: Readonly<Record<string, unknown>>
  readonly link: NetworkLink | null
  /** Null: its network was never asked, or it has none. */
  readonly networkCheck: NetworkCheck | null
  /** When its network last called back about it, to within a minute. Null: never, or it does not call back. */
  readonly lastReportAt: Instant | null
  readonly createdAt: Instant
  readonly waiting: BoundedCount
  readonly oldestWaitingAt: Instant | null
  readonly pace: MeasuredPace
  readonly standsStill: StandsStill | null
  readonly group: LaneGroup
}

interface LaneList {
  readonly items: readonly LaneOverview[]
  readonly next: string | null
  /** How many connections of the whole account are in each group, whatever is searched for. */
  readonly counts: Readonly<Record<LaneGroup, number>>
}

/** The message that has an open attempt, begun at `since`. `evidenceUntil` null: the call may still be running. */
export interface OpenMessageView {
  readonly id: MessageId
  readonly to: string
  readonly type: MessageType
  readonly preview: string | null
  readonly acceptedAt: Instant
  readonly attempt: number
  readonly since: Instant
  readonly evidenceUntil: Instant | null
  readonly words: string | null
}

export interface WaitingMessageView {
  readonly id: MessageId
  readonly to: string
  readonly type: MessageType
  /** The beginning of its text, or of the name and caption of its file. Null: there is none, or it was deleted. */
  readonly preview: string | null
  readonly acceptedAt: Instant
  readonly attempts: number
  /** 1 is the head of the lane, which may be the one that is being handed over. */
  readonly position: number
  /** The deferred message to the same recipient that it waits for. */
  readonly behind: EarlierMessage | null
  /** What the message itself waits for. */
  readonly wait: OwnWait | null
}

/** A code of core/reasons.ts. */
interface OwnWait {
  readonly reason: string
  readonly words: string | null
  readonly until: Instant | null
}

/** What is in a lane. `open` null: nothing is being sent. */
export interface LanePage {
  readonly open: OpenMessageView | null
  /** Those that wait for something of their own, each with the later ones to its recipient behind it. */
  readonly deferred: {
    readonly count: number
    readonly recipients: number
    /** Only the front of the lane was searched for them: further back there may be others. */
    readonly isMore: boolean
    /** On the first page, the first fifty. */
    readonly items: readonly WaitingMessageView[]
  }
  /** The others, in order. */
  readonly items: readonly WaitingMessageView[]
  readonly next: string | null
}

/** The place of a message that waits or is being sent, and what it waits for. */
export interface WaitingPlace {
  readonly id: MessageId
  readonly connectionId: ConnectionId
  /** It has an open attempt. */
  readonly isOpen: boolean
  /** 1 is the head of the lane. Null: it stands further back than is counted. */
  readonly position: number | null
  /** What the message itself waits for, or what stops its lane: a code of core/reasons.ts. Null: only the messages before it. */
  readonly wait: OwnWait | null
  /** The deferred message to the same recipient that it waits for. */
  readonly behind: EarlierMessage | null
  /** The same code, or that of the head of its lane, as on its page. Null: the lane moves. */
  readonly code: string | null
  /** It is sent once more although an attempt before may have arrived. */
  readonly mayHaveLeft: boolean
}

interface UnresolvedView extends ResendFacts {
  readonly id: MessageId
  readonly to: string
  readonly connectionId: ConnectionId
  readonly connection: string
  readonly channel: string
  readonly type: MessageType
  readonly acceptedAt: Instant
  readonly settledAt: Instant | null
  readonly attempts: number
  readonly reason: string | null
  readonly words: string | null
}

export interface OfConnection {
  readonly accountId: AccountId
  readonly id: ConnectionId
}

export interface OfMessage {
  readonly accountId: AccountId
  readonly id: MessageId
}

/**
 * Connections and their lanes, as the console shows and changes them. Everything is of one account: what belongs to another
 * is refused as if it did not exist, with `connection_unknown` or `message_unknown`. Each change is one transaction that
 * also writes the audit log, and a running service notices it at once. An unknown cursor starts from the beginning.
 */
export interface LaneViews {
  /**
   * By group and number, without removed ones. `find`: only those whose number begins with it or whose name contains it. A lane
   * that changes its group between two pages may be listed twice or not at all.
   */
  listLanes(wanted: {
    accountId: AccountId
    find: string | null
    group: LaneGroup | null
    after: string | null
  }): Promise<LaneList>
  readLane(of: OfConnection): Promise<LaneOverview>
  /** What waits: the deferred messages, and twenty others from the cursor on. */
  listWaiting(of: OfConnection, after: string | null): Promise<LanePage>
  /**
   * What the oldest deferred message waits for, and when the first of all deferred ones goes on; null: none is deferred, or there
   * is no such connection.
   */
  findOldestWait(of: OfConnection): Promise<OwnWait | null>
  /** The places of those messages that wait or are being sent. Ids of another account are left out. */
  findPlaces(accountId: AccountId, ids: readonly MessageId[]): Promise<readonly WaitingPlace[]>

  setState(of: OfConnection, state: 'active' | 'paused', actor: Actor): Promise<void>
  /** Refuses with `connection_changed`, as `Administration` does. */
  changeSettings(of: OfConnection, change: ConnectionChange, actor: Actor): Promise<void>
  /**
   * Ends the wait of the lane, so that it tries at once. Refuses with `lane_not_waiting` when there is no wait that a person
   * may end.
   */
  endWait(of: OfConnection, actor: Actor): Promise<void>
  /** Approves a backlog that waits for a person, so that it is sent. Refuses with `lane_not_waiting` when none waits. */
  confirmBacklog(of: OfConnection, actor: Actor): Promise<void>
  /** The `upTo` for a first `cancelWaiting` that leaves messages accepted from this time on alone; null: none came before. */
  findLastBefore(of: OfConnection, before: Instant): Promise<string | null>
  /**
   * Cancels some of the waiting messages, newest first, but not one that is being handed over. The first call has `upTo` null,
   * each further one the `upTo` that the last one returned, until that is null. Messages accepted after the first call stay.
   */
  cancelWaiting(of: OfConnection, upTo: string | null, actor: Actor): Promise<TakenOut & { upTo: string | null }>
  /**
   * One part of a removal: pauses the connection and cancels some of what waits, until nothing does; then it is removed.
   * Refuses with `connection_has_waiting` when anything waits and `cancelWaiting` is false.
   */
  removeSome(of: OfConnection, cancelWaiting: boolean, actor: Actor): Promise<TakenOut & { isRemoved: boolean }>

  /** UNCONFIRMED and not resolved, newest first, as far back as a quick scan reaches. */
  listUnresolved(wanted: {
    accountId: AccountId
    connectionId: ConnectionId | null
    after: string | null
  }): Promise<{ items: readonly UnresolvedView[]; next: string | null }>
  /** As in `Administration`, for messages of this account alone. */
  cancelMessage(of: OfMessage, actor: Actor): Promise<MessageView>
  retryMessage(of: OfMessage, actor: Actor): Promise<MessageView>
  resolveMessage(of: OfMessage, as: 'arrived' | 'send-again', actor: Actor): Promise<MessageView>
}
