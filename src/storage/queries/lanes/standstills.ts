import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { Standstill } from '../../../core/message/find-waits.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import type { Change, Reader } from '../store.ts'

/** Shorter waits are not kept. */
export const SHORTEST_MS = 1_000
/** A wait that begins so soon after the last one, and for the same reason, is the same wait: in between a message was tried. */
export const RETRY_WITHIN_MS = 120_000
/** Instead of a connection: all lanes. */
export const ALL_LANES = ''

const READ_AT_MOST = 200

type Kind = Extract<ReasonCode, 'paused' | 'database_went_back'>

/** The connection is paused from now on. */
export async function beginPause({ tables, at, actor }: Change, connectionId: ConnectionId): Promise<void> {
  const reason: Kind = 'paused'
  await tables
    .insertInto('standstill')
    .values({ connection_id: connectionId, reason, since: at, begun_by: actor })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Ends the pause. Does nothing if there was none. */
export async function endPause({ tables, at, actor }: Change, connectionId: ConnectionId): Promise<void> {
  const reason: Kind = 'paused'
  await tables
    .updateTable('standstill')
    .set({ until: at, ended_by: actor })
    .where('connection_id', '=', connectionId)
    .where('reason', '=', reason)
    .where('until', 'is', null)
    .execute()
}

/** Who has paused the connection; null when it is not paused. */
export async function readPause(
  tables: Reader,
  connectionId: ConnectionId,
): Promise<{ readonly by: string; readonly at: Instant } | null> {
  const reason: Kind = 'paused'
  const row = await tables
    .selectFrom('standstill')
    .select(['since as at', 'begun_by as by'])
    .where('connection_id', '=', connectionId)
    .where('reason', '=', reason)
    .where('until', 'is', null)
    .executeTakeFirst()
  return row?.by ? { by: row.by, at: row.at } : null
}

/** All lanes were held and no longer are. */
export async function noteHold(
  { tables, at, actor }: Change,
  { since, reason: words }: { readonly since: Instant; readonly reason: string },
): Promise<void> {
  const reason: Kind = 'database_went_back'
  await tables
    .insertInto('standstill')
    .values({ connection_id: ALL_LANES, reason, since, until: at, words, ended_by: actor })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** A person has ended what the lane waited for. */
export async function endLaneWait({ tables, at, actor }: Change, connectionId: ConnectionId): Promise<void> {
  const lane = await tables
    .selectFrom('lane')
    .select(['wait_reason', 'wait_since', 'wait_until'])
    .where('connection_id', '=', connectionId)
    .executeTakeFirst()
  if (!lane?.wait_reason) return
  await tables
    .updateTable('lane')
    .set({ wait_reason: null, wait_words: null, wait_until: null, wait_since: null })
    .where('connection_id', '=', connectionId)
    .execute()
  const { wait_reason: reason, wait_since: since } = lane
  const isOver = lane.wait_until !== null && lane.wait_until <= at
  const until = isOver ? (lane.wait_until ?? at) : at
  if (since === null || until - since < SHORTEST_MS) return
  await tables
    .insertInto('standstill')
    .values({ connection_id: connectionId, reason, since, until, ended_by: isOver ? null : actor })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The standstills of a lane, and those of all lanes, in that time. If there are very many, the newest ones. */
export async function readStandstills(
  tables: Reader,
  connectionId: ConnectionId,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<readonly Standstill[]> {
  const rows = await tables
    .selectFrom('standstill')
    .select(['reason', 'since', 'until', 'words', 'begun_by as begunBy', 'ended_by as endedBy'])
    .where('connection_id', 'in', [connectionId, ALL_LANES])
    .where('since', '<', to)
    .where((its) => its.or([its('until', 'is', null), its('until', '>', from)]))
    .orderBy('since', 'desc')
    .limit(READ_AT_MOST)
    .execute()
  return rows.toReversed()
}
