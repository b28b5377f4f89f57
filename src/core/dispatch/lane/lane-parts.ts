import type { ConnectionId, Instant } from '../../ids.ts'
import type { Sequence } from '../../message/message.ts'
import type { BlockedRecipients } from '../../ports/blocked-recipients.ts'
import type { Channel } from '../../ports/channel.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Journal } from '../../ports/journal.ts'
import type { Lanes } from '../../ports/lanes.ts'
import type { WorkerLease } from '../workers/lease.ts'

/** A lane that this worker runs, as far as it is needed to release it. */
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
  /** Since when this process fetches the file of a message; null while it does not or cannot. */
  readonly mediaFetchedSince: (sequence: Sequence) => Instant | null
  /** Fetches the media of lane heads before that of other messages. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** The lane belongs to another worker, or may start nothing and has nothing to finish. */
  readonly onGone: (lane: RunLane) => void
}
