import { sql } from 'kysely'
import { MOST_DOWNLOADS } from '../../../core/dispatch/media/stage.ts'
import { isSilent, LEASE_MS, LONGEST_LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { Instant } from '../../../core/ids.ts'
import type { RetryState } from '../../../core/message/message.ts'
import type { ConnectionState } from '../../../core/ports/administration.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { whyNotLoggedIn } from '../../../core/sentences/explain-session.ts'
import { instantText } from '../../../format/instants.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

/** The facts that explain why a lane waits. */
export interface LaneFacts {
  readonly connection_state: ConnectionState
  readonly wait_reason: string | null
  readonly wait_words: string | null
  readonly wait_until: Instant | null
  readonly owner: string | null
  /** Null when the lane has no owner, or the row of its owner is gone. */
  readonly owner_until: Instant | null
  /** Why all lanes are held; null while they may move. */
  readonly held: string | null
  /** When the last heartbeat of any worker runs out; null when there is no worker, and of none that is too far ahead. */
  readonly workers_until: Instant | null
  /** The message with an open attempt; null when none is open. */
  readonly open_sequence: number | null
  readonly evidence_until: Instant | null
  readonly open_words: string | null
  /** The status of its session with the network; null when it has none. */
  readonly session_status: string | null
  readonly session_code: number | null
  readonly session_until: Instant | null
}

/** The facts that explain what the message itself waits for. */
export interface OwnFacts {
  /** JSON of RetryState. */
  readonly retry: string | null
  /** The state of its attachment; null for text. */
  readonly media_state: 'pending' | 'ready' | 'failed' | 'forgotten' | null
  /** Why its last download failed, and when it is tried again; null while none has. */
  readonly media_words: string | null
  readonly media_try_at: Instant | null
}

export interface LaneReason {
  readonly reason: string
  readonly words: string | null
  readonly until: Instant | null
}

/** What the reasons of all lanes depend on. */
export interface LaneContext {
  readonly now: Instant
  /** Set while nothing can be written. Leases run out then, so this explains every lane. */
  readonly error: StorageError | null
  /** The process that holds the data; null when that is not known. */
  readonly holder?: number | null
}

export async function laneContextOf(store: Store): Promise<LaneContext> {
  return {
    now: store.now(),
    error: (await store.findStorageError?.()) ?? null,
    holder: store.findHolder?.() ?? null,
  }
}

/** Why a lane that has something to do is waiting. `due` and `sending` mean that it moves. */
export function explainLane(lane: LaneFacts, context: LaneContext): LaneReason {
  const { now, error } = context
  if (error) return unavailable(error)
  if (lane.open_sequence !== null) {
    if (lane.evidence_until !== null)
      return { reason: 'awaiting_evidence', words: lane.open_words, until: lane.evidence_until }
    return withoutWorker(lane, context) ?? plain('sending')
  }
  if (lane.connection_state === 'removed') return plain('connection_removed')
  if (lane.connection_state === 'paused') return plain('paused')
  const hold = held(lane)
  if (hold) return hold
  const notLoggedIn = withoutSession(lane)
  if (notLoggedIn) return notLoggedIn
  if (lane.wait_reason !== null && (lane.wait_until === null || lane.wait_until > now)) {
    return { reason: lane.wait_reason, words: lane.wait_words, until: lane.wait_until }
  }
  return withoutWorker(lane, context) ?? plain('due')
}

/** What the message itself waits for, whatever its lane does; null: nothing. */
export function explainOwnWait(own: OwnFacts, now: Instant): LaneReason | null {
  const wait = own.retry === null ? null : (JSON.parse(own.retry) as RetryState).wait
  if (wait && wait.until > now) return { reason: wait.reason, words: wait.words, until: wait.until }
  if (own.media_state !== 'pending') return null
  const { media_words: words, media_try_at: tryAt } = own
  return { reason: 'media_pending', words, until: tryAt !== null && tryAt > now ? tryAt : null }
}

/**
 * Why a message without an open attempt waits: what stops its whole lane, or else what the message itself waits for. Null if it
 * waits only for other messages.
 */
export function explainWaiting(
  message: LaneFacts & OwnFacts,
  { isHead, ...context }: LaneContext & { readonly isHead: boolean },
): LaneReason | null {
  const lane = explainLane(message, context)
  const own = explainOwnWait(message, context.now)
  if (context.error !== null || message.connection_state !== 'active') return lane
  if (!own && !isHead) return null
  if (own) return OF_NO_LANE.has(lane.reason) ? own : lane
  return lane.reason === ('all_deferred' satisfies ReasonCode) ? plain('due') : lane
}

/** The same of one that may have an open attempt. */
export function explainSelf(
  message: LaneFacts & OwnFacts,
  context: LaneContext & { readonly isHead: boolean },
): LaneReason | null {
  return message.open_sequence === null ? explainWaiting(message, context) : explainLane(message, context)
}

/**
 * What the page and the row of a message say: what the message itself waits for, or else what stops its lane. Null: it waits only
 * for earlier messages. That all of those are deferred does not explain it, nor does the time of the lane's next check.
 */
export function explainInLane(own: LaneReason | null, head: LaneFacts, context: LaneContext): LaneReason | null {
  const reason = own ?? explainBehind(head, context)
  return OF_NO_LANE.has(reason.reason) ? null : reason
}

/** The lane moves, or waits for nothing of its own. */
const OF_NO_LANE: ReadonlySet<string> = new Set<ReasonCode>(['due', 'sending', 'all_deferred'])

/** The same for the messages behind the head: they may be blocked even while the head is being sent. */
function explainBehind(lane: LaneFacts, context: LaneContext): LaneReason {
  if (context.error) return unavailable(context.error)
  if (lane.connection_state === 'paused') return plain('paused')
  return held(lane) ?? explainLane(lane, context)
}

/**
 * As `explainBehind`, but null while the lane moves or is empty. An empty lane is blocked, too, while nothing can be written,
 * because no message can be accepted for it, and while its session cannot send.
 */
export function whyStandsStill(lane: LaneFacts, waiting: number, context: LaneContext): LaneReason | null {
  if (context.error) return unavailable(context.error)
  if (lane.connection_state === 'paused') return plain('paused')
  if (waiting === 0 && lane.open_sequence === null) return withoutSession(lane)
  const reason = explainBehind(lane, context)
  return isMoving(reason) ? null : reason
}

function isMoving({ reason }: LaneReason): boolean {
  return reason === 'due' || reason === 'sending'
}

function held({ held: words }: LaneFacts): LaneReason | null {
  return words === null ? null : { reason: 'database_went_back', words, until: null }
}

/**
 * Why its session cannot send until a person or the network acts. Read from the session, because the lane itself notices it
 * only at its next attempt, maybe hours later.
 */
export function withoutSession(lane: LaneFacts): LaneReason | null {
  const { session_status: status, session_code: code, session_until: refusedUntil } = lane
  return status === null ? null : whyNotLoggedIn({ status, code, refusedUntil })
}

/** Null while a process can send for the lane. */
function withoutWorker(lane: LaneFacts, { now, holder }: LaneContext): LaneReason | null {
  const { workers_until: until } = lane
  if (until === null) return plain('service_stopped')
  // A process that stops normally deletes its row.
  if (until <= now) return { reason: 'service_stopped', words: noSignOfLife(until, holder ?? null), until: null }
  const isOwnerSilent = lane.owner !== null && (lane.owner_until === null || isSilent(lane.owner_until, now))
  return isOwnerSilent ? plain('process_gone') : null
}

/** The process was killed, is frozen or cannot reach the database. Only on SQLite the lock shows which process it is. */
function noSignOfLife(heartbeatUntil: Instant, holder: number | null): string {
  const seen = instantText(heartbeatUntil - LEASE_MS)
  return holder === null
    ? `No process sends. The last sign of life of one was on ${seen}.`
    : `Process ${holder} has shown no sign of life since ${seen}, but still holds the data. Nothing is sent.`
}

function unavailable({ cause }: StorageError): LaneReason {
  return { reason: 'storage_unavailable', words: cause, until: null }
}

function plain(reason: ReasonCode): LaneReason {
  return { reason, words: null, until: null }
}

// Reasons whose wait a person cannot end early, because it is not the lane's own or the lane would find it again at once: its
// owner's settings, media, a person, a worker, its session. Or a try would make it longer.
const NOT_ENDED: ReadonlySet<string> = new Set<ReasonCode>([
  'due',
  'sending',
  'behind_others',
  'all_deferred',
  'awaiting_evidence',
  'media_uploading',
  'pace',
  'quiet_hours',
  'backlog_confirmation',
  'paused',
  'connection_removed',
  'database_went_back',
  'service_stopped',
  'process_gone',
  'storage_unavailable',
  'device_unlinked',
  'session_taken',
  'session_unreadable',
  'number_banned',
  'number_restricted',
  'client_refused',
  'channel_not_installed',
])

/** Whether a person may end a wait for this reason. */
export function mayBeEnded(reason: string): boolean {
  return !NOT_ENDED.has(reason)
}

/** Whether the worker dispatches. Other processes send nothing. */
const DISPATCHES = sql<boolean>`(roles is null or ',' || roles || ',' like '%,dispatch,%')`

const SESSION_FACTS = [
  sql<string | null>`(select status from session_status where connection_id = c.id)`.as('session_status'),
  sql<number | null>`(select code from session_status where connection_id = c.id)`.as('session_code'),
  sql<Instant | null>`(select refused_until from session_status where connection_id = c.id)`.as('session_until'),
] as const

/**
 * The columns that `explainLane` needs, without those of the media. Tables: connection `c`, lane `l`, its open attempt `o`,
 * the lane's owner `w`. Workers whose lease ends too far ahead to be valid are left out.
 */
export function laneFacts(now: Instant) {
  return [
    'c.state as connection_state',
    'o.message_sequence as open_sequence',
    'o.evidence_until',
    'o.words as open_words',
    'l.owner',
    'l.wait_reason',
    'l.wait_words',
    'l.wait_until',
    'w.heartbeat_until as owner_until',
    ...SESSION_FACTS,
    sql<string | null>`(select reason from hold)`.as('held'),
    sql<Instant | null>`(select max(heartbeat_until) from worker
      where ${DISPATCHES} and heartbeat_until - ${sql.lit(LONGEST_LEASE_MS)} <= ${now})`.as('workers_until'),
  ] as const
}

const MEDIA = sql<Tables['media']['state'] | null>`x.state`
const NEXT_TRY = sql<Instant | null>`case when x.state = 'pending' and x.tries > 0 then x.next_try_at end`
const LAST_TRY = sql<string | null>`case when x.state = 'pending' and x.tries > 0
  then x.words || ' The next try is number ' || (x.tries + 1) || ' of ' || ${sql.lit(MOST_DOWNLOADS)} || '.' end`

/** The same of the attachment of a message, for `explainOwnWait`. Table: its media `x`. */
export const MEDIA_FACTS = [MEDIA.as('media_state'), NEXT_TRY.as('media_try_at'), LAST_TRY.as('media_words')] as const

/** The same of a message without one. */
export const NO_MEDIA = { media_state: null, media_try_at: null, media_words: null } as const
