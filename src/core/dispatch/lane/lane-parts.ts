import type { ConnectionId } from '../../ids.ts'
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
  /** Null when there is nothing to close. */
  closeSession(): Promise<void> | null
}

export interface LaneParts {
  readonly lanes: Lanes
  readonly clock: Clock
  readonly journal: Journal
  readonly lease: WorkerLease
  readonly channel: Channel
  readonly blocked: BlockedRecipients
  /** Fetches the media of these messages, which their lanes wait for, before that of others. */
  readonly wantMedia: (sequences: readonly Sequence[]) => void
  /** Aborted when the worker begins to stop. */
  readonly stopping: AbortSignal
  /** Called when the lane belongs to another worker, or may start nothing and has nothing to finish. */
  readonly onGone: (lane: RunLane) => void
}
