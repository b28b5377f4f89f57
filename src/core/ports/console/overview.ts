import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant } from '../../ids.ts'
import type { Actor, HoldView } from '../administration.ts'

export type OverviewRange = '1h' | '24h' | '7d' | '30d'

/** Counts by result. `waiting` includes what is being sent, `published` what was delivered or read. */
export interface Tallies {
  readonly published: number
  readonly waiting: number
  readonly failed: number
  readonly unconfirmed: number
  readonly expired: number
  readonly cancelled: number
  /** Requests that made no message. */
  readonly refused: number
}

export interface Totals extends Tallies {
  readonly accepted: number
}

export interface TallyBar extends Tallies {
  readonly at: Instant
}

/** A lane that has something to do. */
export interface WaitingLane {
  readonly connectionId: ConnectionId
  readonly number: string
  readonly name: string | null
  readonly channel: string
  readonly policy: LanePolicy
  readonly state: 'active' | 'paused'
  readonly waiting: number
  /** True: more wait than were counted. */
  readonly isMore: boolean
  readonly oldestAt: Instant | null
  /** Why it stands still: a code of core/reasons.ts; null while it moves. */
  readonly reason: string | null
  readonly words: string | null
  readonly until: Instant | null
}

/** Messages that failed or expired for the same reason. */
export interface AttentionGroup {
  readonly state: 'FAILED' | 'EXPIRED'
  readonly reason: string | null
  readonly count: number
  readonly latestAt: Instant
}

/** Until when a person has seen something that needs attention. Anything newer shows it again. */
export interface AttentionSeen {
  readonly until: Instant
  readonly by: string
  readonly at: Instant
}

export interface AttentionView {
  /** How far back messages are counted. */
  readonly from: Instant
  /**
   * Failed and expired messages that no person has dealt with, most frequent first; not those to recipients on the block
   * list.
   */
  readonly groups: readonly AttentionGroup[]
  /** Numbers with messages that wait for a person, the longest wait first, at most some twenty. */
  readonly lanes: readonly WaitingLane[]
  /** By the key that it was noted with. */
  readonly seen: ReadonlyMap<string, AttentionSeen>
}

export interface FirstSteps {
  readonly connection: boolean
  readonly token: boolean
  readonly message: boolean
  /** Whether the first start has done a step, and not a person. */
  readonly byFirstStart: { readonly connection: boolean; readonly token: boolean }
}

/** The overview page. `lanes` are the worst of those with waiting messages, `furtherLanes` the number of all others. */
export interface OverviewView {
  readonly now: Instant
  readonly range: OverviewRange
  readonly from: Instant
  readonly barMs: number
  readonly bars: readonly TallyBar[]
  readonly totals: Totals
  /** Null: nothing has been counted yet. */
  readonly countedAt: Instant | null
  /** False while hours of the range are still to be counted for the first time. */
  readonly isComplete: boolean
  readonly waiting: { readonly count: number; readonly isMore: boolean; readonly oldestAt: Instant | null }
  /** Null when nothing was published lately. */
  readonly latency: { readonly messages: number; readonly p50Ms: number; readonly p95Ms: number } | null
  readonly lanes: readonly WaitingLane[]
  readonly furtherLanes: number
  /** `isOwn`: it concerns no other account. */
  readonly hold: (HoldView & { readonly isOwn: boolean }) | null
  /** Null once a person has seen a message of the account in the log. */
  readonly firstSteps: FirstSteps | null
}

/** What an account keeps now. Null times: nothing was counted, or nothing is kept. */
export interface RetentionView {
  readonly now: Instant
  readonly messages: number
  readonly countedAt: Instant | null
  readonly isComplete: boolean
  readonly oldestAt: Instant | null
  readonly spool: { readonly files: number; readonly bytes: number; readonly isMore: boolean }
  /** Null where other accounts live in the same database: its size would reveal theirs. */
  readonly databaseBytes: number | null
}

export interface WantedOverview {
  readonly accountId: AccountId
  readonly range: OverviewRange
  /** Bars and totals of this connection alone; null: of all. */
  readonly connectionId: ConnectionId | null
  /** The reader's time zone, as in the IANA database, so that each day begins at their midnight; null: not known. */
  readonly timeZone: string | null
  /** Minutes that the reader's clock is ahead of UTC now: for a place that is not known. */
  readonly offsetMinutes: number
}

export interface WantedSent {
  readonly accountId: AccountId
  readonly connectionIds: readonly ConnectionId[]
  readonly since: Instant
}

export interface SentCount {
  readonly connectionId: ConnectionId
  readonly sent: number
  /** Failed or expired. */
  readonly notSent: number
}

/**
 * An account at a glance. Nothing here takes longer the more messages there are, so bars and totals of very full hours were
 * counted a while ago (`countedAt`); all else is current. Reads are not in one transaction: two facts of one answer may
 * differ slightly in time. A request speeds up the counting for a while. A connection of another account has no data.
 */
export interface Overview {
  readOverview(wanted: WantedOverview): Promise<OverviewView>
  /**
   * What became of the messages that these connections accepted since the hour of this time, at most two days back, up to a
   * while ago (`readOverview`): one item for each of the account, also without any. `isComplete`: false while some of the
   * hours are not counted yet.
   */
  countSent(wanted: WantedSent): Promise<{ readonly items: readonly SentCount[]; readonly isComplete: boolean }>
  /** What needs attention, of the last seven days. */
  readAttention(accountId: AccountId): Promise<AttentionView>
  /** A person has seen something of this key up to this time. Only the newest 200 keys are kept. */
  noteAttentionSeen(
    accountId: AccountId,
    seen: { readonly key: string; readonly until: Instant },
    actor: Actor,
  ): Promise<void>
  /** What is kept, since when, and how much room it takes. */
  readRetention(accountId: AccountId): Promise<RetentionView>
  /** A person has seen a message of the account in the log, so the first steps are over. Harmless when they were. */
  noteMessageSeen(accountId: AccountId, actor: Actor): Promise<void>
  /**
   * Lets all numbers move again. Refuses with `lanes_not_held`, and with `hold_of_installation` where it concerns other accounts,
   * too.
   */
  releaseHold(accountId: AccountId, actor: Actor): Promise<HoldView>
}
