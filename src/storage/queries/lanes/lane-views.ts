import { sql } from 'kysely'
import type { AccountId, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { LaneViews, OfMessage } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { cancelMessage, resolveMessage, retryMessage } from '../messages/change-message.ts'
import { HAS_ENDED_BADLY } from '../messages/message-view.ts'
import { RESEND_FACTS, toResendFacts } from '../messages/send-again.ts'
import { type Reader, type Reading, type Store, snapshot } from '../store.ts'
import { createCancelling, createLaneChanges } from './change-lane.ts'
import { findPlaces } from './find-places.ts'
import { findOldestWait, listWaiting } from './list-waiting.ts'
import { listLanes, readLane } from './read-lanes.ts'

const PAGE = 20

const MOST_SCANNED = 5_000

/** Connections and lanes for the console, over any engine. */
export function createLaneViews(store: Store): LaneViews {
  return {
    listLanes: (wanted) => listLanes(store, wanted),
    readLane: (of) => readLane(store, of),
    findPlaces: (accountId, ids) => findPlaces(store, accountId, ids),
    listWaiting: (of, after) => listWaiting(store, of, after),
    findOldestWait: (of) => findOldestWait(store, of),

    ...createLaneChanges(store),
    ...createCancelling(store),

    listUnresolved: (wanted) => listUnresolved(store, wanted),
    cancelMessage: (of, actor) => changeOwn(store, of, (id) => cancelMessage(store, id, actor)),
    retryMessage: (of, actor) => changeOwn(store, of, (id) => retryMessage(store, id, actor)),
    resolveMessage: (of, as, actor) => changeOwn(store, of, (id) => resolveMessage(store, { id, as }, actor)),
  }
}

/**
 * Changes a message of this account. A message of another account is refused like an unknown one. The account is checked
 * before the change, because a message never changes its account.
 */
async function changeOwn<Result>(
  { database, engine }: Store,
  { accountId, id }: OfMessage,
  make: (id: MessageId) => Promise<Result>,
): Promise<Result> {
  const sequence = await engine.locate(database, id)
  const own =
    sequence === null
      ? undefined
      : await database
          .selectFrom('message')
          .select('id')
          .where('sequence', '=', sequence)
          .where('account_id', '=', accountId)
          .executeTakeFirst()
  if (!own) throw new Refusal('message_unknown', 'There is no such message in this account.')
  return make(own.id)
}

type Wanted = Parameters<LaneViews['listUnresolved']>[0]

function listUnresolved(store: Store, wanted: Wanted): ReturnType<LaneViews['listUnresolved']> {
  return snapshot(store, async (tables) => {
    const { found, goesOnBelow } = await find({ tables, engine: store.engine }, wanted)
    const rows = found.length === 0 ? [] : await read(tables, wanted.accountId, found)
    const items = rows.map(({ body_deleted_at, has_connection, is_blocked, ...row }) => ({
      ...row,
      ...toResendFacts({ body_deleted_at, has_connection, is_blocked }),
    }))
    return { items, next: goesOnBelow === null ? null : String(goesOnBelow) }
  })
}

/**
 * One index holds the unresolved messages of all accounts, and is usually short. Where other accounts have many in between,
 * the rest are searched among all messages of this account that ended badly: an index per account would cost every acceptance
 * more.
 */
async function find({ tables, engine }: Reading, { accountId, connectionId, after }: Wanted) {
  const fits = (row: { account_id: AccountId; connection_id: unknown }) =>
    row.account_id === accountId && (connectionId === null || row.connection_id === connectionId)
  const ofAll = await unresolvedBelow(tables, before(after)).execute()
  let found = ofAll.filter(fits).map(({ sequence }) => sequence)
  let lowest = ofAll.length < MOST_SCANNED ? null : (ofAll.at(-1)?.sequence ?? null)
  if (lowest !== null && found.length <= PAGE) {
    const own = await endedBadlyBelow({ tables, engine }, accountId, lowest).execute()
    const further = own.filter((row) => row.state === 'UNCONFIRMED' && row.resolved_at === null && fits(row))
    found = [...found, ...further.map(({ sequence }) => sequence)]
    lowest = own.length < MOST_SCANNED ? null : (own.at(-1)?.sequence ?? null)
  }
  return { found: found.slice(0, PAGE), goesOnBelow: found.length > PAGE ? (found[PAGE - 1] ?? null) : lowest }
}

function unresolvedBelow(tables: Reader, sequence: Sequence) {
  return tables
    .selectFrom('message')
    .select(['sequence', 'account_id', 'connection_id'])
    .where('state', '=', sql.lit('UNCONFIRMED'))
    .where('resolved_at', 'is', null)
    .where('sequence', '<', sequence)
    .orderBy('sequence', 'desc')
    .limit(MOST_SCANNED)
}

function endedBadlyBelow({ tables, engine }: Reading, accountId: AccountId, sequence: Sequence) {
  return tables
    .selectFrom('message')
    .select(['sequence', 'account_id', 'connection_id', 'state', 'resolved_at'])
    .where(engine.ofAccount(accountId, { from: 0, before: sequence }))
    .where(HAS_ENDED_BADLY)
    .orderBy('account_id', 'desc')
    .orderBy('sequence', 'desc')
    .limit(MOST_SCANNED)
}

function read(tables: Reader, accountId: AccountId, sequences: readonly Sequence[]) {
  return tables
    .selectFrom('message as m')
    .innerJoin('connection as c', 'c.id', 'm.connection_id')
    .select(['m.id', 'm.recipient as to', 'm.connection_id as connectionId', 'c.number as connection', 'c.channel'])
    .select(['m.type', 'm.accepted_at as acceptedAt', 'm.settled_at as settledAt', 'm.attempts', 'm.reason', 'm.words'])
    .select('m.body_deleted_at')
    .select(RESEND_FACTS)
    .where('m.account_id', '=', accountId)
    .where('m.sequence', 'in', sequences)
    .orderBy('m.sequence', 'desc')
    .execute()
}

function before(cursor: string | null): Sequence {
  return cursor !== null && /^\d{1,16}$/.test(cursor) ? Number(cursor) : Number.MAX_SAFE_INTEGER
}
