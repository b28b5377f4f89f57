import type { ConnectionId, Instant } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { BlockedRecipients } from '../../ports/blocked-recipients.ts'
import type { Channel } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Lanes } from '../../ports/lanes.ts'
import type { WorkerLease } from '../workers/lease.ts'

/** A lane that this worker runs, as far as whoever lets it go must know it. */
export interface RunLane {
  readonly connectionId: ConnectionId
  readonly epoch: number
}

export interface LaneParts {
  readonly lanes: Lanes
  readonly clock: Clock
  readonly journal: Journal
  readonly lease: WorkerLease
  readonly channel: Channel
  readonly blocked: BlockedRecipients
  /** Since when this process is at the file of a message; null while it is not, and while it cannot be. */
  readonly mediaFetchedSince: (sequence: Sequence) => Instant | null
  /** The head of the lane wants its media before others get theirs. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** The lane is no longer ours, or has nothing to do for as long as it may open nothing. */
  readonly onGone: (lane: RunLane) => void
}
