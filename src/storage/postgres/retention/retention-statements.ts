import type { RemovedKind, WalkOf } from '../../../core/ports/retention.ts'
import type { WalkedRow } from '../../queries/retention/aging-rows.ts'
import { textArray } from '../connection/binary-arrays.ts'

/** One statement for each walk: `$1` the sequences, `$2` now. `gone` has the removed rows. */
export const REMOVALS: Readonly<Record<WalkOf, { readonly kind: RemovedKind; readonly sql: string }>> = {
  'message.body': {
    kind: 'bodies',
    sql: `with gone as (
        update settled set body = '', body_crc = 0, body_deleted_at = $2::bigint
          where sequence = any ($1::bigint[]) and body_deleted_at is null returning 1
      ), addresses as (
        update media set url = '' where message_sequence = any ($1::bigint[])
      )`,
  },
  message: {
    kind: 'messages',
    sql: `with given as (select $2::bigint), gone as (
        delete from settled where sequence = any ($1::bigint[]) returning 1
      ), attempts as (
        delete from ended_attempt where message_sequence = any ($1::bigint[])
      ), entries as (
        delete from timeline where message_sequence = any ($1::bigint[])
      ), files as (
        delete from media where message_sequence = any ($1::bigint[])
      ), kept as (
        delete from retention_kept where message_sequence = any ($1::bigint[])
      )`,
  },
  'request.body': {
    kind: 'bodies',
    sql: `with gone as (
        update request set body = null, body_deleted_at = $2::bigint
          where sequence = any ($1::bigint[]) and body is not null returning 1
      )`,
  },
  request: {
    kind: 'requests',
    sql: `with given as (select $2::bigint), gone as (
        delete from request where sequence = any ($1::bigint[]) returning 1
      )`,
  },
}

/** Part of the same statement: stores the kept messages, and how far the walk has come. */
export function keepBackAndMark(
  what: WalkOf,
  {
    keepBack,
    accountId,
    to,
  }: { readonly keepBack: readonly WalkedRow[]; readonly accountId: string; readonly to: number | null },
): { readonly sql: string; readonly values: readonly unknown[] } {
  const values: unknown[] = []
  const value = (given: unknown): string => `$${values.push(given) + 2}`
  let sql = ''
  if (keepBack.length > 0) {
    const accounts = value(textArray(keepBack.map((row) => row.account_id)))
    const sequences = value(keepBack.map((row) => row.sequence))
    sql += `, kept_back as (
      insert into retention_kept (account_id, message_sequence, what)
        select a, s, ${value(what)} from unnest(${accounts}::text[], ${sequences}::bigint[]) k (a, s) on conflict do nothing)`
  }
  if (to !== null) {
    sql += `, mark as (
      insert into retention_mark (account_id, what, position) values (${value(accountId)}, ${value(what)}, ${value(to)}::bigint)
        on conflict (account_id, what) do update set position = greatest(retention_mark.position, excluded.position))`
  }
  return { sql, values }
}
