import type { LanePolicy } from '../connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant, WorkerId } from '../ids.ts'
import type { QueuedMessage, RetryState, Sequence, SettledState } from '../message/message.ts'
import type { OwnWaitFacts } from '../message/own-wait.ts'
import type { ReasonCode } from '../reasons.ts'
import type { Receipt, ReceiptEnd, SentAs } from './channel.ts'

/** Why and until when a lane stands still. The reason is a code of core/reasons.ts. */
export interface LaneWait {
  readonly reason: string
  /** The network's own words; null when it said none. */
  readonly words: string | null
  /** Null: until something happens (a person resumes the connection, media arrives). */
  readonly until: Instant | null
}

/** The failures of a connection since its last success. They survive restarts. */
export interface FailureStreak {
  /** Failures in a row that were, or may have been, the connection's own. */
  readonly failures: number
  /** When the first of these happened; null while there was none. */
  readonly since: Instant | null
  /** How many different messages failed in that run, for whatever reason. */
  readonly messages: number
}

/** What a worker that takes over a lane must know of it. Null: no failures in a row; the lane does not wait. */
export interface LaneMemory {
  readonly failureStreak: FailureStreak | null
  readonly wait: LaneWait | null
}

/** An attempt that was started and has no recorded outcome. */
export interface OpenAttempt {
  readonly message: QueuedMessage
  readonly number: number
  readonly startedAt: Instant
  /** How often a worker died while it was open, this time included. */
  readonly crashes: number
  /** Until when the lane waits for evidence; null while the call may still be running. */
  readonly evidenceUntil: Instant | null
  /** All lanes were held while it was open: the database may have been set back, and later attempts may be lost (G12). */
  readonly isPossiblySuperseded: boolean
}

/**
 * What becomes of the session of a connection, where its channel has sessions: it stays while the connection is paused, ends
 * while all lanes are held (G12), and is removed with the connection.
 */
export type SessionAction = 'keep' | 'end' | 'remove'

/** A worker's temporary right to a lane. */
export interface ClaimedLane {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  /** The sender number. */
  readonly number: string
  readonly channel: string
  readonly channelSettings: Readonly<Record<string, unknown>>
  readonly policy: LanePolicy
  readonly epoch: number
  /** False when paused, removed or held: then nothing new starts, but an open attempt is still finished. */
  readonly mayOpen: boolean
  readonly session: SessionAction
  /** The id of a person's request about the session, until it has ended; null: there is none. */
  readonly sessionRequest: string | null
  readonly memory: LaneMemory
  /**
   * When the last attempt began, or a person confirmed the backlog; null when neither was stored. Stored only for lanes that
   * have a pace, must know how long they stood still, or move past a deferred message.
   */
  readonly lastAttemptAt: Instant | null
  readonly open: OpenAttempt | null
}

/** How an attempt ended, for the log. */
export interface AttemptRecord {
  readonly sequence: Sequence
  readonly number: number
  readonly startedAt: Instant
  readonly endedAt: Instant
  readonly outcome: 'accepted' | 'rejected' | 'unknown'
  readonly code: string | null
  readonly words: string | null
  /** The network's own id of the message; null unless accepted. */
  readonly networkId: string | null
  readonly facts?: AttemptFacts
}

/** Facts that only few attempts have, for the timeline. */
export interface AttemptFacts extends SentAs, Partial<OwnWaitFacts> {}

/** What a transition does with the message of the attempt that it finishes. */
export type Disposition =
  | {
      readonly do: 'finalize'
      readonly as: SettledState
      readonly reason: ReasonCode | null
      readonly words: string | null
    }
  /** Certainly not sent: it waits in its lane again. */
  | { readonly do: 'keep-queued'; readonly retry: RetryState | null }
  /** The result is unknown yet: the attempt stays open until evidence arrives or `until`. */
  | { readonly do: 'await-evidence'; readonly until: Instant; readonly words: string }

interface Start {
  readonly sequence: Sequence
  /** The number of the attempt, from 1. */
  readonly number: number
  /**
   * The lane has read all its messages up to this one. The attempt starts only if no message waits between this one and its own
   * (G3). Left out when the lane has read those between, too.
   */
  readonly knownThrough?: Sequence
}

/** A part of a lane that its worker has passed: each message in it is final, or one of `deferred`. */
export interface PassedRange {
  /** The range begins behind this message. */
  readonly after: Sequence
  readonly through: Sequence
  /** In ascending order. */
  readonly deferred: readonly Sequence[]
}

/** A message that waits for something of its own. */
export interface DeferredMessage {
  readonly sequence: Sequence
  readonly retry: RetryState
}

/** One committed transition of a lane: the end of an attempt and the start of the next share a commit (G4). */
export interface LaneTransition {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  readonly epoch: number
  readonly at: Instant
  readonly finish: { readonly attempt: AttemptRecord; readonly disposition: Disposition } | null
  /** A message that is finalized without an attempt of this transition (expired, bad media, damaged). */
  readonly discard: {
    readonly sequence: Sequence
    readonly as: SettledState
    readonly reason: ReasonCode
    readonly words: string | null
  } | null
  readonly start: Start | null
  /** Messages that are newly deferred. Nothing is written for one that no longer waits in this lane. */
  readonly deferred?: readonly DeferredMessage[]
  /** What storage need not read again. */
  readonly passed?: readonly PassedRange[]
  /** The time of the attempt that starts is kept: see `ClaimedLane`. */
  readonly notesAttempt?: boolean
  /** Written only when it changed; undefined leaves it. */
  readonly memory?: LaneMemory
}

/**
 * `fenced`: the claim is no longer this worker's, nothing was written (G6).
 * `started` is false when the message no longer waits, an unknown one waits before it, or the connection may not send: then
 * the lane reloads.
 */
export type LaneTransitionResult = { readonly fenced: true } | { readonly fenced: false; readonly started: boolean }

/** What the dispatcher needs of storage. Throws StorageUnavailable when nothing could be committed. */
export interface Lanes {
  /**
   * Creates or renews the worker's lease. It lasts for `lastsMs` from the commit on, and so do its claims, unless another
   * worker took them over before. Returns all dispatching workers with a valid lease, including this one.
   */
  heartbeat(worker: WorkerId, lastsMs: number): Promise<readonly WorkerId[]>
  /** Ends a worker's lease, so that other workers may claim its lanes at once. */
  deleteLease(worker: WorkerId): Promise<void>

  /**
   * Claims lanes with messages, a stored session or a request about one, if they are free, this worker's, or of a dead worker.
   * While all lanes are held, a stored session alone does not count. Each claim gets a new epoch in the same transaction, so
   * two workers that call at once never hold the same lane (G2, G6). A lane with an open attempt counts a crash of its former
   * worker. `only` null: of all connections. Lanes in `held` are left out, and those that `shouldDefer` leaves to another
   * worker: it is called only for free lanes that could be claimed.
   */
  claim(request: {
    readonly worker: WorkerId
    readonly only: readonly ConnectionId[] | null
    readonly held: { has(id: ConnectionId): boolean }
    readonly shouldDefer: (id: ConnectionId) => boolean
    readonly limit: number
  }): Promise<readonly ClaimedLane[]>

  /** A claimed lane as it is now, with the same epoch. Null when the claim has been taken over. */
  inspect(lane: { readonly connectionId: ConnectionId; readonly epoch: number }): Promise<ClaimedLane | null>

  /** Releases lanes. A lane whose epoch has moved on is ignored. */
  release(lanes: readonly { readonly connectionId: ConnectionId; readonly epoch: number }[]): Promise<void>

  /**
   * The lowest unfinished messages of a lane behind this one, in order of acceptance; 0 begins with the first. Messages of a
   * lane become visible in their order, so nothing can appear before a message that was read (G3).
   */
  fetchNext(connectionId: ConnectionId, limit: number, after: Sequence): Promise<readonly QueuedMessage[]>

  /** Commits one transition. Those of one turn of the event loop share a commit. The next attempt may be called only after this has resolved (G4). */
  record(step: LaneTransition): Promise<LaneTransitionResult>

  /**
   * Finalizes messages without an open attempt as EXPIRED after the time to live of their connection, but none while all lanes
   * are held (G12). Returns how many.
   */
  expire(limit: number): Promise<number>

  /**
   * Applies a report of the network. Moves a message only forward; a contrary report is kept and flagged. The same
   * report applied again changes nothing and is recorded once, even when two processes apply it at once.
   * `message-unknown`: there is none, it is of another connection (G8), or, by the network's id alone, none has that id yet.
   */
  applyReceipt(receipt: Receipt): Promise<ReceiptEnd>
}

/** Why this process cannot write at present. */
export interface StorageError {
  /** Null: the beginning is unknown. */
  readonly since: Instant | null
  /** A sentence for people, without addresses and paths. */
  readonly cause: string
}

/** A past period in which a process could write nothing. */
export interface Outage {
  readonly since: Instant
  readonly until: Instant
  readonly cause: string
}

/** Thrown when storage could not commit. `unknown` when it may have committed after all. */
export class StorageUnavailable extends Error {
  readonly unknown: boolean
  constructor(message: string, unknown: boolean, options?: ErrorOptions) {
    super(message, options)
    this.unknown = unknown
  }
}
