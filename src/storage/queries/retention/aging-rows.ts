import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { WalkOf } from '../../../core/ports/retention.ts'
import { decideRow } from '../../../core/retention/decide-row.ts'

/** A row that a walk reads, in the form of both engines. */
export interface WalkedRow {
  readonly sequence: Sequence
  readonly account_id: AccountId
  /** Only messages have one. */
  readonly connection_id: ConnectionId | null
  readonly at: Instant
  readonly ended_at: Instant | null
  /** Numbers, because one engine has no booleans. */
  readonly is_unresolved: number
  readonly is_in_use: number
  /** Its body was deleted before. */
  readonly is_bare: number
  readonly has_media: number
}

/**
 * The columns that a walk reads. A message `m` is unfinished exactly if it is QUEUED, because a message with an open attempt
 * is QUEUED too.
 */
export const COLUMNS: Readonly<Record<WalkOf, string>> = {
  'message.body': messageColumns('0'),
  message: messageColumns(
    `case when m.type <> 'message' and exists (
       select 1 from media x where x.message_sequence = m.sequence and x.state = 'ready') then 1 else 0 end`,
  ),
  'request.body': requestColumns(),
  request: requestColumns(),
}

function messageColumns(inUse: string): string {
  return `m.sequence, m.account_id, m.connection_id, m.accepted_at as at,
    case when m.state <> 'QUEUED' then coalesce(m.settled_at, m.accepted_at) end as ended_at,
    case when m.state = 'UNCONFIRMED' and m.resolved_at is null then 1 else 0 end as is_unresolved,
    ${inUse} as is_in_use,
    case when m.body_deleted_at is null then 0 else 1 end as is_bare,
    case when m.type <> 'message' then 1 else 0 end as has_media`
}

function requestColumns(): string {
  return `m.sequence, m.account_id, null as connection_id, m.received_at as at, m.received_at as ended_at,
    0 as is_unresolved, 0 as is_in_use, case when m.body is null then 1 else 0 end as is_bare, 0 as has_media`
}

export interface DecidedRows {
  readonly remove: readonly WalkedRow[]
  readonly keepBack: readonly WalkedRow[]
  /** The last row that was decided; null: none was. */
  readonly mark: Sequence | null
  /** One was too young. */
  readonly isThrough: boolean
}

export function decideRows(
  rows: readonly WalkedRow[],
  { what, before, now }: { readonly what: WalkOf; readonly before: Instant; readonly now: Instant },
): DecidedRows {
  const [remove, keepBack]: [WalkedRow[], WalkedRow[]] = [[], []]
  let mark: Sequence | null = null
  for (const row of rows) {
    const result = decide(row, { before, now })
    if (result === 'too-young') return { remove, keepBack, mark, isThrough: true }
    mark = row.sequence
    const isDone = what.endsWith('.body') && row.is_bare === 1
    // A request is finished at once. Only a request with a time of a wrong clock has an unknown age; it stays.
    if (result === 'remove' && !isDone) remove.push(row)
    else if (result === 'keep-back' && row.connection_id !== null) keepBack.push(row)
  }
  return { remove, keepBack, mark, isThrough: false }
}

/** The rows among those kept back that are removed now. */
export function decideAgain(
  rows: readonly WalkedRow[],
  { before, now }: { readonly before: (accountId: AccountId) => Instant | null; readonly now: Instant },
): readonly WalkedRow[] {
  return rows.filter((row) => {
    const end = before(row.account_id)
    return end !== null && decide(row, { before: end, now }) === 'remove'
  })
}

function decide(row: WalkedRow, times: { readonly before: Instant; readonly now: Instant }) {
  return decideRow(
    { at: row.at, endedAt: row.ended_at, isUnresolved: row.is_unresolved === 1, isInUse: row.is_in_use === 1 },
    times,
  )
}
