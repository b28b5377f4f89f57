import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { ConnectionId } from '../../../core/ids.ts'
import type { MessageState, RetryState, Sequence, SettledState } from '../../../core/message/message.ts'
import { ownWaitFacts } from '../../../core/message/own-wait.ts'
import type { TakenOut } from '../../../core/message/taken-out.ts'
import { NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import type { TimelineKind } from '../../../core/message/timeline.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { selectUnfinished } from '../lanes/lane-order.ts'
import type { Change, Reader } from '../store.ts'

// About 20 ms of writing on a laptop: the service accepts messages at the same time and must not wait long for its turn.
const CANCELLED_AT_ONCE = 2_000
const GAP_FOR_OTHER_WRITERS_MS = 10

/** Between two parts of a long cancelling. */
export function yieldToWriters(): Promise<void> {
  return pause(GAP_FOR_OTHER_WRITERS_MS)
}

interface WhatToCancel {
  readonly id: ConnectionId
  /** The last message to cancel: those accepted after it stay. */
  readonly upTo: Sequence
  readonly reason: 'connection_removed' | 'cancelled_by_person'
}

export interface Cancelled extends TakenOut {
  /** True when nothing up to `upTo` is left to cancel. */
  readonly isAll: boolean
  /** The first of them; null when there was none. */
  readonly first: Sequence | null
}

/** The waiting messages without the one that has an open attempt: cutting that off would leave its result unknown. */
export function selectCancellable(tables: Reader, id: ConnectionId) {
  return selectUnfinished(tables, id).where('e.sequence', 'not in', (open) =>
    open.selectFrom('open_attempt').select('message_sequence').where('connection_id', '=', id),
  )
}

/** Cancels the last messages first, so that those still sent in the meantime are in order and without gaps. */
export async function cancelSome(making: Change, { id, upTo, reason }: WhatToCancel): Promise<Cancelled> {
  const { tables, engine, at } = making
  // In a short lane the last messages include the one with an open attempt.
  await engine.lockLastWaiting(tables, { connectionId: id, upTo, most: CANCELLED_AT_ONCE + 1 })
  const rows = await selectCancellable(tables, id)
    .select('e.sequence')
    .where('e.sequence', '<=', upTo)
    .orderBy('e.sequence', 'desc')
    .limit(CANCELLED_AT_ONCE)
    .execute()
  const isAll = rows.length < CANCELLED_AT_ONCE
  const first = rows.at(-1)?.sequence ?? null
  if (rows.length === 0) return { ...NONE_TAKEN_OUT, isAll, first }
  const found = rows.map((row) => row.sequence)
  const ownWaits = await readOwnWaits(tables, found)
  const ended = await tables
    .updateTable('message')
    .set({ ...cancelledEnd(reason), settled_at: at })
    .where('sequence', 'in', found)
    .where('state', '=', sql.lit('QUEUED'))
    .returning(['sequence', 'state'])
    .execute()
  const sequences = ended.map((row) => row.sequence)
  if (sequences.length === 0) return { ...NONE_TAKEN_OUT, isAll, first }
  // Otherwise each further batch would read past all entries that earlier ones cancelled.
  await tables.deleteFrom('lane_entry').where('connection_id', '=', id).where('sequence', 'in', sequences).execute()
  await engine.lockMedia(tables, sequences)
  await tables
    .updateTable('media')
    .set({ state: 'forgotten', ended_at: at })
    .where('message_sequence', 'in', sequences)
    .where('state', '=', 'pending')
    .execute()
  await notifyEach(making, { ended, ownWaits, reason })
  const cancelled = ended.filter(({ state }) => state === 'CANCELLED').length
  return { isAll, cancelled, unconfirmed: ended.length - cancelled, first }
}

/** Most wait only for their turn, so few are read. */
async function readOwnWaits(tables: Reader, sequences: readonly Sequence[]) {
  const rows = await tables
    .selectFrom('message')
    .select(['sequence', 'retry'])
    .where('sequence', 'in', sequences)
    .where('retry', 'is not', null)
    .execute()
  return new Map(
    rows.map(({ sequence, retry }) => [sequence, ownWaitFacts(JSON.parse(retry ?? 'null') as RetryState | null)]),
  )
}

interface Ended {
  readonly ended: readonly { readonly sequence: Sequence; readonly state: MessageState }[]
  readonly ownWaits: Awaited<ReturnType<typeof readOwnWaits>>
  readonly reason: WhatToCancel['reason']
}

/**
 * Records in each timeline who cancelled the message, and what it waited for itself. That its number was removed follows from the
 * message, so only such a wait is recorded then.
 */
async function notifyEach(making: Change, { ended, ownWaits, reason }: Ended): Promise<void> {
  const isRemoved = reason === 'connection_removed'
  const byFacts = new Map<string, Sequence[]>()
  for (const { sequence, state } of ended) {
    const wait = ownWaits.get(sequence) ?? null
    if (isRemoved && (state !== 'CANCELLED' || wait === null)) continue
    const facts = JSON.stringify({ ...(isRemoved ? { state } : { by: making.actor }), ...wait })
    const same = byFacts.get(facts)
    if (same) same.push(sequence)
    else byFacts.set(facts, [sequence])
  }
  for (const [facts, sequences] of byFacts) {
    const entry = { kind: isRemoved ? 'connection-removed' : 'cancelled', code: reason, facts } as const
    await addEntries(making, sequences, entry)
  }
}

async function addEntries(
  { tables, at }: Change,
  sequences: readonly Sequence[],
  { kind, code, facts }: { readonly kind: TimelineKind; readonly code: ReasonCode; readonly facts: string },
): Promise<void> {
  const last = sql<number>`coalesce((select max(t.position) from timeline t where t.message_sequence = m.sequence), 0)`
  await tables
    .insertInto('timeline')
    .columns(['message_sequence', 'position', 'at', 'kind', 'code', 'facts'])
    .expression((query) =>
      query
        .selectFrom('message as m')
        .where('m.sequence', 'in', sequences)
        .select([
          'm.sequence',
          sql<number>`${last} + 1`.as('position'),
          sql<number>`${sql.lit(at)}`.as('at'),
          sql.lit(kind).as('kind'),
          sql.lit(code).as('code'),
          sql<string>`cast(${facts} as text)`.as('facts'),
        ]),
    )
    // The service may have added an entry with the same time, such as a receipt. Then this one is left out: the message itself
    // says the same.
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * The final state of a message that is taken out of its lane. After an attempt with an unknown result it may have arrived,
 * so it ends UNCONFIRMED and not CANCELLED. For an update of `message`.
 */
export function cancelledEnd(reason: ReasonCode) {
  const mayHaveArrived = sql`exists (select 1 from attempt where message_sequence = message.sequence and outcome = 'unknown')`
  return {
    state: sql<SettledState>`case when ${mayHaveArrived} then 'UNCONFIRMED' else 'CANCELLED' end`,
    retry: null,
    reason: sql<ReasonCode>`case when ${mayHaveArrived} then 'result_unknown' else ${reason} end`,
  }
}
