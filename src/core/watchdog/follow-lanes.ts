import type { ConnectionId, Instant } from '../ids.ts'
import type { WatchedLane } from '../ports/watch.ts'
import type { OpenAlarm } from './alarm.ts'

/** The state of a lane at the last check. */
export interface LaneMark {
  /** Another one as soon as the lane has moved in any way. */
  readonly mark: string
  /** When it was first seen in this state. */
  readonly since: Instant
  /** When it was last seen to wait for its owner's settings. The time before that does not count against its head. */
  readonly heldUntil: Instant
}

export type LaneMarks = ReadonlyMap<ConnectionId, LaneMark>

const SET_BY_PEOPLE: ReadonlySet<string> = new Set(['paused', 'quiet_hours', 'pace', 'database_went_back'])

/** Whether the lane waits for nothing but what its owner, or a person, has set. */
function waitsAsSet({ reason, policy }: Pick<WatchedLane, 'reason' | 'policy'>): boolean {
  // Between two waits for its pace a lane sends for a moment.
  return SET_BY_PEOPLE.has(reason) || (policy.leastGapMs > 0 && moves({ reason }))
}

export function moves({ reason }: Pick<WatchedLane, 'reason'>): boolean {
  return reason === 'due' || reason === 'sending'
}

function markOf({ state, reason, until, head, open, lastAttemptAt }: WatchedLane): string {
  return JSON.stringify([state, reason, until, head?.sequence, open?.number, open?.startedAt, lastAttemptAt])
}

/**
 * Whether lanes have moved since the last check. Pure. An open alarm holds the state of a lane from before this process began
 * to watch, so a restart does not count as movement.
 */
export function followLanes(
  before: LaneMarks,
  lanes: readonly WatchedLane[],
  { open, now }: { readonly open: readonly OpenAlarm[]; readonly now: Instant },
): LaneMarks {
  const stalled = new Map(open.filter(({ kind }) => kind === 'lane_stalled').map((alarm) => [alarm.object, alarm]))
  const marks = new Map<ConnectionId, LaneMark>()
  for (const lane of lanes) {
    const mark = markOf(lane)
    const known = before.get(lane.connectionId)
    const alarm = stalled.get(lane.connectionId)
    const seen = known ?? (alarm && { mark: String(alarm.facts['mark']), since: alarm.since, heldUntil: 0 })
    const since = seen?.mark === mark && seen.since <= now ? seen.since : now
    marks.set(lane.connectionId, {
      mark,
      since,
      heldUntil: waitsAsSet(lane) ? now : Math.min(now, seen?.heldUntil ?? 0),
    })
  }
  return marks
}
