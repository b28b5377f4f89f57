import type { AdapterCapabilities } from '../connection/adapter-capabilities.ts'
import type { LanePolicy } from '../connection/lane-policy.ts'
import type { AccountId, ConnectionId, Instant, TokenId, WorkerId } from '../ids.ts'
import type { Sequence } from '../message/message.ts'
import type { EndingToken } from '../notifications/token-notifications.ts'
import type { Finding, OpenAlarm } from '../watchdog/alarm.ts'

/** A lane as one check finds it. */
export interface WatchedLane {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  readonly number: string
  readonly channel: string
  readonly state: 'active' | 'paused' | 'removed'
  readonly policy: LanePolicy
  /** A code of core/reasons.ts. `due` and `sending` mean that the lane moves; others say what it waits for. */
  readonly reason: string
  readonly until: Instant | null
  /** The last reason that it waited for, also when that wait is over. */
  readonly lastWait: string | null
  /** Its session was ready, cannot send now, and no person has unlinked it here. */
  readonly hasLostSession: boolean
  /** Since when its connection has failed without a break; null while it works. */
  readonly failingSince: Instant | null
  readonly lastAttemptAt: Instant | null
  /** Null: no worker holds it. */
  readonly holder: { readonly isAlive: boolean; readonly host: string | null; readonly pid: number | null } | null
  /** Null: nothing waits. */
  readonly head: {
    readonly sequence: Sequence
    readonly acceptedAt: Instant
    /** What the message itself waits for; null: nothing. */
    readonly ownWait: { readonly reason: string; readonly words: string | null; readonly until: Instant | null } | null
  } | null
  readonly open: { readonly sequence: Sequence; readonly number: number; readonly startedAt: Instant } | null
}

export interface LaneToMeasure {
  readonly id: ConnectionId
  /** Up to how many messages it is worth counting. */
  readonly most: number
}

/** How many messages wait in a lane, and when the newest of them was accepted. */
export interface LaneMeasure {
  readonly waiting: number
  readonly isMore: boolean
  readonly newestAt: Instant | null
}

export interface WatchedToken extends EndingToken {
  readonly lastUsedAt: Instant | null
  readonly hasSuccessor: boolean
}

/** The last time that a token was used after its end. */
export interface ExpiredUse {
  readonly tokenId: TokenId
  readonly lastAt: Instant
}

/** The unresolved messages of an account. */
export interface Unconfirmed {
  readonly accountId: AccountId
  readonly count: number
  readonly oldestAt: Instant
}

/** A connection whose network sends callbacks, but none since it accepted messages. */
export interface Unreported {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly number: string
  readonly channel: string
  readonly count: number
  readonly isMore: boolean
  /** When the network took the first of them. */
  readonly oldestAt: Instant
  /** Null: it has never reported anything. */
  readonly lastReportAt: Instant | null
}

/**
 * Where the channel `bridge` stores that an adapter broke the protocol. The key is the broken promise, the value the id of the
 * message.
 */
export const BROKEN_PROMISE_KIND = 'bridge.broken-promise'

/**
 * Where it stores the capabilities that an adapter reports, as JSON, while they differ from those stored with its connection.
 */
export const CHANGED_CAPABILITIES_KIND = 'bridge.capabilities'

/** A connection whose adapter now reports other capabilities than when it was checked. */
export interface ChangedCapabilities {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly number: string
  readonly stored: AdapterCapabilities
  readonly said: AdapterCapabilities
  readonly since: Instant
}

/** A connection whose adapter has broken promises lately. */
export interface BrokenPromises {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly number: string
  readonly broken: readonly { readonly promise: string; readonly messageId: string; readonly at: Instant }[]
}

/** Where WhatsApp Web stores until when a number may not write to new recipients. */
export const CONTACT_LOCK_KIND = 'whatsapp-web.first-contact-lock'

/** The network does not let a connection write to new recipients for a while. */
export interface ContactLock {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId
  readonly number: string
  readonly channel: string
  readonly since: Instant
  /** Null: it does not say until when. */
  readonly until: Instant | null
}

/** A backlog near its limit. `connectionId` null: that of the whole account. */
export interface FullLane {
  readonly accountId: AccountId
  readonly connectionId: ConnectionId | null
  readonly number: string | null
  readonly waiting: number
  readonly limit: number
}

/**
 * Called after each part of a long count with the milliseconds that it took. When it resolves to true, the count goes on now; with
 * false, at the next check.
 */
export type Throttle = (tookMs: number) => Promise<boolean>

/** What concerns all accounts. `hold` null: lanes are not held. */
export interface InstallationFacts {
  readonly hold: { readonly since: Instant; readonly reason: string } | null
  /** When the last heartbeat of any worker that dispatches runs out; null when there is none. */
  readonly dispatchesUntil: Instant | null
  readonly hasConnections: boolean
}

/** An alarm that was raised or cleared, and may not have been announced. */
export interface UnannouncedAlarm extends OpenAlarm {
  readonly clearedAt: Instant | null
}

/**
 * What the watchdog reads and writes. All of it is cheap: it reads waiting messages and never finished ones; nothing takes
 * longer the more messages there are. Rejects with `StorageUnavailable`.
 */
export interface Watch {
  /**
   * Acquires or renews the lease on watching the database for `lastsMs`. Of several processes on one database, one has it;
   * another gets it once it has expired.
   */
  acquireLease(watcher: WorkerId, lastsMs: number): Promise<boolean>
  /** Ends the lease. Harmless for a process that does not hold it. */
  releaseLease(watcher: WorkerId): Promise<void>
  /** Lanes in which something waits, by their id from `after` on. Those with nothing to do cost nothing. */
  readLanes(after: ConnectionId | null, limit: number): Promise<readonly WatchedLane[]>
  /** The same for these, also when nothing waits. Removed ones are left out. */
  readLanesOf(ids: readonly ConnectionId[]): Promise<readonly WatchedLane[]>
  /** Those whose `hasLostSession` is true. */
  readLostSessions(): Promise<readonly ConnectionId[]>
  /** A measure of each of these. Counts in none further than its `most`. */
  measureLanes(lanes: readonly LaneToMeasure[]): Promise<ReadonlyMap<ConnectionId, LaneMeasure>>
  readInstallation(): Promise<InstallationFacts>
  /** The unresolved messages of all accounts. */
  readUnconfirmed(): Promise<readonly Unconfirmed[]>
  /** Connections whose network has reported nothing for this long, and accepted a message that long ago. */
  readUnreported(silentForMs: number): Promise<readonly Unreported[]>
  readBrokenPromises(): Promise<readonly BrokenPromises[]>
  readChangedCapabilities(): Promise<readonly ChangedCapabilities[]>
  readContactLocks(): Promise<readonly ContactLock[]>
  /** Tokens that are not deleted and end between these two times, ordered by their end. */
  readTokens(ending: { readonly from: Instant; readonly to: Instant }): Promise<readonly WatchedToken[]>
  /** Which of these tokens were used after their end, as far as the newest requests of their account show. */
  readExpiredUse(tokens: readonly WatchedToken[]): Promise<readonly ExpiredUse[]>
  /** Connections and accounts in which this share of their limit waits. May be some minutes old; null: not known yet. */
  readFullLanes(share: number, throttle: Throttle): Promise<readonly FullLane[] | null>

  readOpenAlarms(): Promise<readonly OpenAlarm[]>
  /** One that is open already is left as it is. */
  raiseAlarms(findings: readonly Finding[], now: Instant): Promise<void>
  /** `isWorse`: the alarm is announced again. */
  changeAlarms(
    changes: readonly { readonly alarm: OpenAlarm; readonly finding: Finding; readonly isWorse: boolean }[],
    now: Instant,
  ): Promise<void>
  clearAlarms(alarms: readonly OpenAlarm[], now: Instant): Promise<void>
  /** Those that are not marked as announced. */
  readUnannouncedAlarms(): Promise<readonly UnannouncedAlarm[]>
  /** The account of the installation; null while it has none, or several. */
  readOnlyAccount(): Promise<AccountId | null>
  markAnnounced(alarms: readonly UnannouncedAlarm[]): Promise<void>
  /** Forgets alarms that were cleared before. */
  forgetAlarms(before: Instant): Promise<void>
}
