import type { ConnectionId, Instant } from '../../../core/ids.ts'

/** Remembers whether a recipient's service window is open. */
export interface WindowNews {
  /** Resolves once it is durable. Harmless twice. */
  close(connectionId: ConnectionId, recipient: string, at: Instant): Promise<void>
  /** The recipient has written to us. Harmless twice; a window that was closed after `at` stays closed. */
  reopen(connectionId: ConnectionId, recipient: string, at: Instant): Promise<void>
  /** The same of many recipients, who cost little more than one. */
  reopenAll(connectionId: ConnectionId, writers: readonly { recipient: string; at: Instant }[]): Promise<void>
}

/** What Meta has reported about a number unasked. Fields that it left out are missing. */
export interface NumberReport {
  readonly at: Instant
  /** Messages of this number get bad feedback, and it may soon be limited: `FLAGGED`; or that is over: `UNFLAGGED`. */
  readonly quality?: 'FLAGGED' | 'UNFLAGGED'
  /** How much it may send: 1,000 messages a second, which Meta calls a throughput upgrade. */
  readonly throughput?: 'HIGH'
  /** The messaging limit in Meta's words, such as `TIER_10K`. */
  readonly messagingLimit?: string
  /** The event of an account update in Meta's words, such as `DISABLED_UPDATE` or `ACCOUNT_RESTRICTION`. */
  readonly account?: string
}

/** Stores what Meta has reported about a connection's number unasked. */
export interface NumberNews {
  /** Resolves once it is durable. Harmless twice, and when an older report comes after a newer one. */
  record(connectionId: ConnectionId, report: NumberReport): Promise<void>
}
