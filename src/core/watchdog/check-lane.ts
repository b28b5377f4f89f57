import type { Instant } from '../ids.ts'
import type { LaneMeasure, WatchedLane } from '../ports/watch.ts'
import type { AlarmFacts, Finding } from './alarm.ts'
import { ALARM_KINDS, type AlarmKind } from './alarm-kinds.ts'
import { type LaneMark, moves } from './follow-lanes.ts'
import { predictExpiry } from './predict-expiry.ts'

// With a check every 15 seconds, the alarm is raised within a minute.
export const STALLED_AFTER_MS = 45_000
const OFFLINE_AFTER_MS = 120_000
/** An alarm about the age of a head stays until it is clearly younger than that. */
const OLDEST_KEPT_SHARE = 0.5

/** Reasons of waiting that the connection did not cause. */
const NOT_THE_CONNECTIONS: ReadonlySet<string> = new Set(['all_deferred', 'pace', 'quiet_hours'])
/** Reasons that keep a session from sending. They have an alarm of their own, which says more. */
const KIND_OF_WAIT: ReadonlyMap<string, AlarmKind> = new Map([
  ['device_unlinked', 'device_unlinked'],
  ['session_taken', 'session_taken'],
  ['number_banned', 'number_restricted'],
  ['number_restricted', 'number_restricted'],
  ['client_refused', 'client_refused'],
])
export const CONNECTION_ALARMS: ReadonlySet<AlarmKind> = new Set(['connection_offline', ...KIND_OF_WAIT.values()])

/** The words of these waits are Nuncio’s own: how much of an allowance is used. */
const COUNTED_BY_NUNCIO: ReadonlySet<string> = new Set(['new_recipients'])

/** Reasons that alarms about the whole installation report. */
const OF_THE_INSTALLATION: ReadonlySet<string> = new Set(['service_stopped', 'database_went_back'])

export interface LaneContext {
  readonly mark: LaneMark
  /** Null: it was not measured. */
  readonly measure: LaneMeasure | null
  /** How long a head may wait before an alarm; 0: however long. */
  readonly oldestWaitingMs: number
  /** How long a call to its channel may take. */
  readonly callBudgetMs: number
  readonly now: Instant
}

/** What is wrong with one lane: at most one reason why it does not move, and what that means for what waits. Pure. */
export function checkLane(lane: WatchedLane, context: LaneContext): readonly Finding[] {
  if (lane.state === 'removed') return []
  const stalled = checkStall(lane, context)
  const offline = checkConnection(lane, context)
  const oldest = checkOldest(lane, context)
  const isExplained = stalled !== null || offline?.raises === true
  const all = [
    stalled,
    offline,
    oldest && isExplained ? { ...oldest, raises: false } : oldest,
    checkExpiry(lane, context),
  ]
  return all.filter((finding) => finding !== null)
}

function checkStall(lane: WatchedLane, { mark, measure, callBudgetMs, now }: LaneContext): Finding | null {
  if (lane.state !== 'active') return null
  const why = whyStalled(lane)
  if (why === null) return null
  // Until then its wait has an explanation.
  const mayWaitUntil = why === 'call_open' ? (lane.open?.startedAt ?? now) + callBudgetMs : (lane.until ?? 0)
  if (now - Math.max(mark.since, mayWaitUntil) < STALLED_AFTER_MS) return null
  const { host = null, pid = null } = lane.holder ?? {}
  const facts = { ...factsOf(lane, measure), why, mark: mark.mark, host, pid, openSince: lane.open?.startedAt ?? null }
  return finding(lane, 'lane_stalled', { since: mark.since, facts })
}

/** Null: the lane has a reason to wait, or something else must happen first. */
function whyStalled({ reason, open, holder, head }: WatchedLane): string | null {
  if (open)
    return reason === 'awaiting_evidence'
      ? 'evidence_over'
      : reason === 'process_gone'
        ? 'process_gone'
        : callOf(reason)
  if (!head) return null
  if (reason === 'process_gone') return 'process_gone'
  if (!moves({ reason })) return null
  return holder ? 'holder_silent' : 'not_claimed'
}

function callOf(reason: string): string | null {
  return reason === 'sending' ? 'call_open' : null
}

function checkConnection(lane: WatchedLane, { measure, now }: LaneContext): Finding | null {
  const { failingSince: since, lastWait, state } = lane
  if (state !== 'active' || since === null || since > now) return null
  if (lastWait === null || NOT_THE_CONNECTIONS.has(lastWait)) return null
  const facts = { ...factsOf(lane, measure), reason: lastWait }
  const kind = KIND_OF_WAIT.get(lastWait) ?? 'connection_offline'
  const matters = lane.head !== null || lane.hasLostSession
  const raises = matters && (kind !== 'connection_offline' || now - since >= OFFLINE_AFTER_MS)
  return finding(lane, kind, { since, facts, raises })
}

function checkOldest(lane: WatchedLane, { mark, measure, oldestWaitingMs, now }: LaneContext): Finding | null {
  const { head, reason, state } = lane
  if (!head || state !== 'active' || oldestWaitingMs === 0 || OF_THE_INSTALLATION.has(reason)) return null
  const ageMs = now - Math.max(head.acceptedAt, mark.heldUntil)
  if (ageMs < oldestWaitingMs * OLDEST_KEPT_SHARE) return null
  const isOfLane = reason !== 'all_deferred' && !moves(lane)
  const own = isOfLane ? null : head.ownWait
  const facts = { ...factsOf(lane, measure), ...(own && factsOfWait(own)) }
  return finding(lane, 'oldest_waiting', { since: head.acceptedAt, facts, raises: ageMs >= oldestWaitingMs })
}

function checkExpiry(lane: WatchedLane, { measure, now }: LaneContext): Finding | null {
  if (!measure || OF_THE_INSTALLATION.has(lane.reason)) return null
  const expiry = predictExpiry(lane, measure, now)
  if (!expiry) return null
  const facts = {
    ...factsOf(lane, measure),
    count: expiry.count,
    firstExpiresAt: expiry.firstAt,
    timeToLiveMs: lane.policy.timeToLiveMs,
  }
  return finding(lane, 'messages_will_expire', { since: now, facts })
}

function factsOf(lane: WatchedLane, measure: LaneMeasure | null): AlarmFacts {
  return {
    number: lane.number,
    channel: lane.channel,
    waiting: measure?.waiting ?? null,
    isMore: measure?.isMore ?? false,
    oldestAt: lane.head?.acceptedAt ?? null,
    lastAttemptAt: lane.lastAttemptAt,
    state: lane.state,
    reason: lane.reason,
  }
}

/** The words of a network stay on the page of the connection: see `alarm-text.ts`. */
function factsOfWait({ reason, words, until }: NonNullable<NonNullable<WatchedLane['head']>['ownWait']>): AlarmFacts {
  return { reason, until, words: COUNTED_BY_NUNCIO.has(reason) ? words : null }
}

function finding(
  { accountId, connectionId }: WatchedLane,
  kind: AlarmKind,
  { since, facts, raises = true }: { since: Instant; facts: AlarmFacts; raises?: boolean },
): Finding {
  return { kind, accountId, object: connectionId, severity: ALARM_KINDS[kind].severity, since, facts, raises }
}
