import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { Instant } from '../../ids.ts'
import type { LaneMemory } from '../../ports/lanes.ts'

export interface LaneStatus {
  readonly policy: LanePolicy
  readonly memory: LaneMemory
  readonly now: Instant
  /** When the last attempt began, or a person confirmed the backlog; null when neither is known. */
  readonly lastAttemptAt: Instant | null
}

/**
 * Whether a person must confirm before the lane goes on: it has stood still for longer than its connection allows, and
 * its head has waited for all that time. Pure.
 *
 * A lane that moves slowly but steadily never gets here: its attempts are movement, and so is a wait that is planned
 * (pace, quiet hours, a retry, media), until it is over. Only a run of failures that are the connection's own does not count as
 * movement, however many attempts it held.
 */
export function wantsConfirmation(head: { readonly acceptedAt: Instant }, lane: LaneStatus): boolean {
  const { confirmBacklogAfterMs } = lane.policy
  if (confirmBacklogAfterMs === 0) return false
  return lane.now - Math.max(head.acceptedAt, stoodStillSince(lane)) > confirmBacklogAfterMs
}

function stoodStillSince({ memory, now, lastAttemptAt }: LaneStatus): Instant {
  const { failureStreak, wait } = memory
  if (failureStreak?.since) return failureStreak.since
  // Without a known attempt, the age of the head alone decides.
  const movedAt = lastAttemptAt ?? 0
  // A planned wait counts as planned even while the service was stopped; the time after its end does not.
  const plannedUntil = wait?.until ?? 0
  return Math.min(now, Math.max(movedAt, plannedUntil))
}
