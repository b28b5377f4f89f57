import type { AccountId, Instant } from '../ids.ts'
import type { OwnTimes } from '../retention/retention-times.ts'

/** What a sweep removes, as it is counted. `days` are whole days that were dropped at once, where storage keeps days apart. */
export const REMOVED_KINDS = ['bodies', 'messages', 'requests', 'inbox', 'waits', 'audit', 'tallies', 'days'] as const
export type RemovedKind = (typeof REMOVED_KINDS)[number]
export type Removed = Readonly<Partial<Record<RemovedKind, number>>>

const WALKS = ['message.body', 'request.body', 'message', 'request'] as const
/** What a walk removes: bodies (`message.body`, `request.body`), or whole rows. */
export type WalkOf = (typeof WALKS)[number]

/** One kind of deletion. `before`: only what is older; null: nothing of this account. */
export type RetentionTask =
  /** Continues after the last walk of this kind, in the order of acceptance. `accountId` null: all accounts. */
  | { readonly do: 'walk'; readonly what: WalkOf; readonly accountId: AccountId | null; readonly before: Instant }
  /** Checks rows again that earlier walks have kept. */
  | {
      readonly do: 'recheck'
      readonly what: 'message.body' | 'message'
      readonly before: (accountId: AccountId) => Instant | null
    }
  /** Drops whole days that are old enough, where storage keeps days apart. */
  | { readonly do: 'drop-days'; readonly before: Instant }
  /** What the sandbox has delivered; all accounts but those named. */
  | {
      readonly do: 'trim-inbox'
      readonly before: (accountId: AccountId) => Instant | null
    }
  | { readonly do: 'trim'; readonly table: 'waits' | 'audit' | 'tallies'; readonly before: Instant }

/** What one transaction of a task did. */
export interface RetentionStep {
  readonly removed: Removed
  /** True when the task is finished. */
  readonly isThrough: boolean
  /** How long other transactions may have waited for it. */
  readonly tookMs: number
  /** Where the next step of the same task continues; null at its beginning. */
  readonly cursor: string | null
  /** The ids of messages whose delivery went from the sandbox's inbox. */
  readonly deliveries?: readonly string[]
}

export interface RetentionState {
  /** Nothing is deleted before. */
  readonly beginsAt: Instant
  readonly waitsFor: 'copy' | 'pause' | null
  /** The process that sweeps now; null when none does. */
  readonly sweptBy: string | null
  /** The last finished sweep; null before the first. */
  readonly last: {
    readonly begunAt: Instant
    readonly endedAt: Instant
    readonly tookMs: number
    readonly removed: Removed
  } | null
}

/** Deletes by age, in small steps. */
export interface Retention {
  /** A step should take no longer than this, because other transactions wait for it. */
  readonly aimMs: number
  /** How many rows one step reads, at most. */
  readonly mostRows: number
  read(now: Instant): Promise<RetentionState>
  /** Accounts with shorter times. */
  readOwnTimes(): Promise<ReadonlyMap<AccountId, OwnTimes>>
  /**
   * Acquires the lease on sweeping for `forMs`, or extends it. False: another process sweeps. Two sweeps at once are harmless
   * but useless.
   */
  acquireLease(worker: string, now: Instant, forMs: number): Promise<boolean>
  releaseLease(worker: string): Promise<void>
  /** Prevents deletions before `until`. */
  postpone(until: Instant, why: RetentionState['waitsFor']): Promise<void>
  /** One short transaction: all of it or nothing. A step that was done again does no harm. */
  step(
    task: RetentionTask,
    given: { readonly now: Instant; readonly limit: number; readonly cursor: string | null },
  ): Promise<RetentionStep>
  /** Stores the result of a sweep. False, and nothing is stored: another worker has acquired the lease meanwhile. */
  finish(worker: string, last: NonNullable<RetentionState['last']>): Promise<boolean>
}
