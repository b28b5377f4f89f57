import type { AccountId, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import { NO_FILTER } from '../../../core/ports/console/api-log.ts'
import type { LaneViews, OfMessage } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { readPage } from '../api-log/read-page.ts'
import { cancelMessage, resolveMessage, retryMessage } from '../messages/change-message.ts'
import { RESEND_FACTS, toResendFacts } from '../messages/send-again.ts'
import type { Reader, Store } from '../store.ts'
import { createCancelling, createLaneChanges } from './change-lane.ts'
import { findPlaces } from './find-places.ts'
import { findOldestWait, listWaiting } from './list-waiting.ts'
import { listLanes, readLane } from './read-lanes.ts'

const PAGE = 20

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

async function listUnresolved(
  store: Store,
  { accountId, connectionId, after }: Parameters<LaneViews['listUnresolved']>[0],
): ReturnType<LaneViews['listUnresolved']> {
  const search = { accountId, connectionId, filter: { ...NO_FILTER, view: 'attention' as const } }
  const { entries, next } = await readPage(store, search, { cursor: after, limit: PAGE })
  const found = await store.engine.locateMany(
    store.database,
    entries.flatMap(({ messageId }) => messageId ?? []),
  )
  const rows = found.size === 0 ? [] : await read(store.database, accountId, [...found.values()])
  const items = rows.map(({ body_deleted_at, has_connection, is_blocked, ...row }) => ({
    ...row,
    ...toResendFacts({ body_deleted_at, has_connection, is_blocked }),
  }))
  return { items, next }
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
