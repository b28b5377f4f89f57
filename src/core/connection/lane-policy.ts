import type { QuietHours } from './quiet-hours.ts'

/** How the lane of one connection behaves. Set by its owner. */
export interface LanePolicy {
  /** What to do with a message whose result is unknown: leave it UNCONFIRMED, or send it once more (possible duplicate). */
  readonly onUnconfirmed: 'leave' | 'resend'
  /** How long a message may wait in the lane before it expires, in milliseconds. */
  readonly timeToLiveMs: number
  /** Least time between the starts of two attempts, in milliseconds. */
  readonly leastGapMs: number
  /** Up to this much is added to the least gap at random, in milliseconds. */
  readonly gapJitterMs: number
  /** Null: it sends at any time of day. */
  readonly quietHours: QuietHours | null
  /** A lane that stood still for longer, with a head older than this, waits for a person; 0: never. In milliseconds. */
  readonly confirmBacklogAfterMs: number
}

export const DEFAULT_LANE_POLICY: LanePolicy = {
  onUnconfirmed: 'leave',
  timeToLiveMs: 24 * 3_600_000,
  leastGapMs: 0,
  gapJitterMs: 0,
  quietHours: null,
  confirmBacklogAfterMs: 0,
}

/** Reads a policy as it is stored, in JSON. A field that was never set has its default. */
export function parseLanePolicy(stored: string): LanePolicy {
  return { ...DEFAULT_LANE_POLICY, ...(JSON.parse(stored) as Partial<LanePolicy>) }
}

/** Whether the begin of each attempt is stored. That costs one more row for each step, so only where it is needed. */
export function notesAttempts({ leastGapMs, confirmBacklogAfterMs }: LanePolicy): boolean {
  return leastGapMs > 0 || confirmBacklogAfterMs > 0
}
