import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { WalkOf } from '../../../core/ports/retention.ts'
import { decideRow } from '../../../core/retention/decide-row.ts'

/** A row that a walk looks at, as both engines read it. */
export interface WalkedRow {
  readonly sequence: Sequence
  readonly account_id: AccountId
  /** Of messages. */
  readonly connection_id: ConnectionId | null
  readonly at: Instant
  readonly ended_at: Instant | null
  /** As numbers, because one engine has no other truth. */
  readonly is_unresolved: number
  readonly is_in_use: number
  /** Its body went before. */
  readonly is_bare: number
  readonly has_media: number
}

/**
 * What a walk reads of a row. For a message `m`: whether it is QUEUED is the same as not being finished, because whatever
 * is being handed over is QUEUED too.
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
  /** Up to here all were judged; null: none was. */
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
    const result = judge(row, { before, now })
    if (result === 'too-young') return { remove, keepBack, mark, isThrough: true }
    mark = row.sequence
    const isDone = what.endsWith('.body') && row.is_bare === 1
    // A request is finished at once, so only of one from a wrong clock nobody knows how old it is: that one stays.
    if (result === 'remove' && !isDone) remove.push(row)
    else if (result === 'keep-back' && row.connection_id !== null) keepBack.push(row)
  }
  return { remove, keepBack, mark, isThrough: false }
}

/** Of those that were kept back: which go now. */
export function decideAgain(
  rows: readonly WalkedRow[],
  { before, now }: { readonly before: (accountId: AccountId) => Instant | null; readonly now: Instant },
): readonly WalkedRow[] {
  return rows.filter((row) => {
    const end = before(row.account_id)
    return end !== null && judge(row, { before: end, now }) === 'remove'
  })
}

function judge(row: WalkedRow, times: { readonly before: Instant; readonly now: Instant }) {
  return decideRow(
    { at: row.at, endedAt: row.ended_at, isUnresolved: row.is_unresolved === 1, isInUse: row.is_in_use === 1 },
    times,
  )
}
