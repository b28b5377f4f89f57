import { parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import { hasValidLease, LONGEST_LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { FailureStreak } from '../../../core/ports/lanes.ts'
import type { WatchedLane } from '../../../core/ports/watch.ts'
import { STATUSES_WITHOUT_LOGIN } from '../../../core/sentences/explain-session.ts'
import { explainLane, explainOwnWait, type LaneFacts, type OwnFacts, withoutSession } from '../lanes/lane-reason.ts'
import type { WatchDatabase } from './watch-database.ts'

interface LaneRow extends LaneFacts, Pick<OwnFacts, 'retry' | 'media_state'> {
  readonly id: ConnectionId
  readonly account_id: AccountId
  readonly number: string
  readonly channel: string
  readonly policy: string
  readonly failure_streak: string | null
  readonly session_since: Instant | null
  readonly has_lost_session: number
  readonly last_attempt_at: Instant | null
  readonly owner_host: string | null
  readonly owner_pid: number | null
  readonly open_number: number | null
  readonly open_started_at: Instant | null
  readonly head: number | null
  readonly head_at: Instant | null
}

export async function readLanes(
  database: WatchDatabase,
  { after, limit, now }: { readonly after: ConnectionId | null; readonly limit: number; readonly now: Instant },
): Promise<readonly WatchedLane[]> {
  const rows = await database.query(`${database.busyLanes(limit)} ${selectLanes(database)}`, [after ?? '', now])
  return (rows as unknown as LaneRow[]).map((row) => toLane(row, now))
}

export async function readLanesOf(
  database: WatchDatabase,
  ids: readonly ConnectionId[],
  now: Instant,
): Promise<readonly WatchedLane[]> {
  const found: WatchedLane[] = []
  for (const id of ids) {
    const only = `with busy (id) as (select id from connection where id = ? and state <> 'removed')`
    const rows = await database.query(`${only} ${selectLanes(database)}`, [id, now])
    found.push(...(rows as unknown as LaneRow[]).map((row) => toLane(row, now)))
  }
  return found
}

/** The session `s` was ready, and no person has unlinked it here since: that would be no news. */
const LOST = `s.ready_at is not null and s.status in (${STATUSES_WITHOUT_LOGIN.map((status) => `'${status}'`).join(', ')})
  and not exists (select 1 from session_request r
    where r.connection_id = s.connection_id and r.kind = 'unlink' and r.ended_at is not null)`

/** There is one row for each linked phone. */
export async function readLostSessions(database: WatchDatabase): Promise<readonly ConnectionId[]> {
  const rows = await database.query(`select s.connection_id as id from session_status s where ${LOST}`, [])
  return rows.map(({ id }) => id as ConnectionId)
}

/** Reads each lane by its key, so the query reads no other rows. */
function selectLanes({ headOfC, unfinished }: WatchDatabase): string {
  return `select x.*, q.accepted_at as head_at,
      (select retry from message where message.sequence = x.head) as retry,
      (select state from media where media.message_sequence = x.head) as media_state
    from (select c.id, c.account_id, c.number, c.channel, c.policy, c.state as connection_state,
        l.owner, l.wait_reason, l.wait_words, l.wait_until, l.failure_streak, l.last_attempt_at,
        s.status as session_status, s.code as session_code, s.refused_until as session_until,
        s.since as session_since, case when ${LOST} then 1 else 0 end as has_lost_session,
        w.heartbeat_until as owner_until, w.host as owner_host, w.pid as owner_pid,
        o.message_sequence as open_sequence, o.number as open_number, o.started_at as open_started_at,
        o.evidence_until, o.words as open_words,
        (select reason from hold) as held,
        (select max(heartbeat_until) from worker
          where (roles is null or ',' || roles || ',' like '%,dispatch,%') and heartbeat_until - ${LONGEST_LEASE_MS} <= ?) as workers_until,
        (${headOfC}) as head
      from busy b
      join connection c on c.id = b.id
      left join lane l on l.connection_id = c.id
      left join open_attempt o on o.connection_id = c.id
      left join worker w on w.id = l.owner
      left join session_status s on s.connection_id = c.id) x
    left join ${unfinished} q on q.sequence = x.head and q.account_id = x.account_id
    order by x.id`
}

function toLane(row: LaneRow, now: Instant): WatchedLane {
  // `error` is null, because while nothing can be written no alarm can be stored either.
  const explained = explainLane(row, { now, error: null })
  const session = withoutSession(row)
  const own = explainOwnWait({ ...row, media_words: null, media_try_at: null }, now)
  const streak = JSON.parse(row.failure_streak ?? 'null') as FailureStreak | null
  return {
    connectionId: row.id,
    accountId: row.account_id,
    number: row.number,
    channel: row.channel,
    state: row.connection_state,
    policy: parseLanePolicy(row.policy),
    ...explained,
    // The session knows at once, the lane with its next attempt. Between two probes of a failing connection, its lane waits for
    // the messages that failed.
    lastWait:
      session?.reason ??
      (row.wait_reason === 'all_deferred' && (streak?.failures ?? 0) >= 3 ? 'trouble' : row.wait_reason),
    hasLostSession: Number(row.has_lost_session) === 1,
    failingSince: session ? row.session_since : (streak?.since ?? null),
    lastAttemptAt: row.last_attempt_at,
    holder:
      row.owner === null
        ? null
        : { isAlive: hasValidLease(row.owner_until ?? 0, now), host: row.owner_host, pid: row.owner_pid },
    head:
      row.head === null || row.head_at === null ? null : { sequence: row.head, acceptedAt: row.head_at, ownWait: own },
    open:
      row.open_sequence === null || row.open_started_at === null
        ? null
        : { sequence: row.open_sequence, number: row.open_number ?? 1, startedAt: row.open_started_at },
  }
}
