import type { MessageId } from '../../../core/ids.ts'
import type { LaneViews, OfMessage } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import { cancelMessage, resolveMessage, retryMessage } from '../messages/change-message.ts'
import type { Store } from '../store.ts'
import { cancelWaiting, removeSome } from './cancel-lane.ts'
import { changeSettings, endWait, setState } from './change-lane.ts'
import { confirmBacklog, findLastBefore } from './confirm-backlog.ts'
import { findPlaces } from './find-places.ts'
import { listUnresolved } from './list-unresolved.ts'
import { listWaiting } from './list-waiting.ts'
import { listLanes, readLane } from './read-lanes.ts'

/** Connections and lanes for the console, over any engine. */
export function createLaneViews(store: Store): LaneViews {
  return {
    listLanes: (wanted) => listLanes(store, wanted),
    readLane: (of) => readLane(store, of),
    findPlaces: (accountId, ids) => findPlaces(store, accountId, ids),
    listWaiting: (of, after) => listWaiting(store, of, after),

    setState: (of, state, actor) => setState(store, { of, state }, actor),
    changeSettings: (of, changed, actor) => changeSettings(store, { of, changed }, actor),
    endWait: (of, actor) => endWait(store, of, actor),
    confirmBacklog: (of, actor) => confirmBacklog(store, of, actor),
    findLastBefore: (of, before) => findLastBefore(store, of, before),
    cancelWaiting: (of, upTo, actor) => cancelWaiting(store, { of, upTo }, actor),
    removeSome: (of, mayCancel, actor) => removeSome(store, { of, cancelWaiting: mayCancel }, actor),

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
