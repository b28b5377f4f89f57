import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { MessageState } from '../../../core/message/message.ts'
import type { MessageView } from '../../../core/ports/administration.ts'
import { findHeads } from '../lanes/lane-order.ts'
import { explainLane, explainWaiting, type LaneContext, laneFacts, MEDIA_FACTS } from '../lanes/lane-reason.ts'
import type { Reader, Reading } from '../store.ts'

/**
 * A condition that an index answers alone: on one engine the index of messages with a reason, which each of these states
 * has, on the other the index of these states. Literals, because a planner that does not know the values cannot use it.
 */
export const HAS_ENDED_BADLY = sql<boolean>`reason is not null and state in ('FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED')`

/** All columns but the body, which may be long. */
export function selectRows(tables: Reader) {
  return tables
    .selectFrom('message')
    .select([
      'sequence',
      'id',
      'account_id',
      'connection_id',
      'token_id',
      'request_id',
      'recipient',
      'type',
      'state',
      'reason',
      'words',
      'attempts',
      'accepted_at',
      'published_at',
      'settled_at',
      'network_id',
      'remote_address',
      'user_agent',
      'took_us',
      'resend_of',
      'resent_as',
      'resolved_at',
      'body_deleted_at',
      'retry',
    ])
}

/**
 * Messages with the facts of their state. For a page of a long list, `rows` selects the page before the joins: with one flat
 * join, the planner may start from the smaller table and sort.
 */
export function selectMessages(tables: Reader, now: Instant, rows = selectRows(tables)) {
  return tables
    .selectFrom(rows.as('m'))
    .innerJoin('connection as c', 'c.id', 'm.connection_id')
    .innerJoin('account as a', 'a.id', 'm.account_id')
    .leftJoin('open_attempt as o', (join) =>
      join.onRef('o.connection_id', '=', 'm.connection_id').onRef('o.message_sequence', '=', 'm.sequence'),
    )
    .leftJoin('lane as l', 'l.connection_id', 'm.connection_id')
    .leftJoin('worker as w', 'w.id', 'l.owner')
    .leftJoin('media as x', 'x.message_sequence', 'm.sequence')
    .select([
      'm.sequence',
      'm.id',
      'm.account_id',
      'm.connection_id',
      'm.recipient',
      'm.type',
      'm.state',
      'm.reason',
      'm.attempts',
      'm.accepted_at',
      'm.published_at',
      'm.settled_at',
      'm.resend_of',
      'm.resent_as',
      'm.resolved_at',
      'm.body_deleted_at',
      'm.retry',
      'a.name as account_name',
      'c.number',
      ...laneFacts(now),
      'o.number as open_number',
      'o.started_at as open_started_at',
      ...MEDIA_FACTS,
    ])
}

export type MessageRow = Awaited<ReturnType<ReturnType<typeof selectMessages>['execute']>>[number]

/** Many at once, because the heads of their lanes are looked up once for all. */
export async function toMessageViews(
  reading: Reading,
  rows: readonly MessageRow[],
  context: LaneContext,
): Promise<MessageView[]> {
  const waiting = rows.filter(({ state }) => state === 'QUEUED').map((row) => row.connection_id)
  const heads = await findHeads(reading, [...new Set(waiting)])
  return rows.map((row) => toMessageView(row, row.sequence === heads.get(row.connection_id), context))
}

export function toMessageView(row: MessageRow, isHead: boolean, context: LaneContext): MessageView {
  return {
    id: row.id,
    account: row.account_name,
    connection: row.number,
    to: row.recipient,
    type: row.type,
    state: shownState(row),
    reason: reasonOf(row, isHead, context),
    // The open attempt is counted whether or not its row in `message` has been written yet.
    attempts: Math.max(row.attempts, row.open_number ?? 0),
    acceptedAt: row.accepted_at,
    publishedAt: row.published_at,
  }
}

/** SENDING is not stored: it is QUEUED with an open attempt. */
export function shownState(row: Pick<MessageRow, 'state' | 'open_sequence'>): MessageState {
  return row.state === 'QUEUED' && row.open_sequence !== null ? 'SENDING' : row.state
}

function reasonOf(row: MessageRow, isHead: boolean, context: LaneContext): string | null {
  if (row.state !== 'QUEUED') return row.reason
  if (row.open_sequence !== null) return explainLane(row, context).reason
  return explainWaiting(row, { ...context, isHead })?.reason ?? 'behind_others'
}
