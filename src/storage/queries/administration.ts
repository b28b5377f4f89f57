import type { Administration } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { findRequest, listRequests } from './api-log/request-log.ts'
import { createConnectionChanges, createConnectionReads } from './connections/connections.ts'
import { removeConnection } from './connections/remove-connection.ts'
import { holdLanes, readHold, releaseHold } from './lanes/hold.ts'
import { listHeldLanes, listWorkers } from './lanes/workers.ts'
import { cancelMessage, resolveMessage, retryMessage } from './messages/change-message.ts'
import { listMessages, listUnresolved } from './messages/list-messages.ts'
import { explainMessage } from './messages/message-timeline.ts'
import { newAccountId } from './new-id.ts'
import { beginRetention, readOwnTimes, readSweep, setOwnTimes } from './retention/own-times.ts'
import { change, type Store, writeAudit } from './store.ts'
import { createTokens } from './tokens/tokens.ts'

/** Administration over any engine that Kysely speaks to. Neither opens nor closes the database. */
export function createAdministration(store: Store): Administration {
  return {
    ...createAccounts(store),

    ...createConnectionReads(store),
    ...createConnectionChanges(store),
    removeConnection: (id, cancelWaiting, actor) => removeConnection(store, { id, cancelWaiting }, actor),

    ...createTokens(store),

    listMessages: (filter) => listMessages(store, filter),
    explainMessage: (id) => explainMessage(store, id),
    cancelMessage: (id, actor) => cancelMessage(store, id, actor),
    retryMessage: (id, actor) => retryMessage(store, id, actor),
    resolveMessage: (id, as, actor) => resolveMessage(store, { id, as }, actor),
    listUnresolved: (accountId) => listUnresolved(store, accountId),

    listRequests: (filter) => listRequests(store, filter),
    findRequest: (requestId, accountId) => findRequest(store, requestId, accountId),

    readOwnTimes: (accountId) => readOwnTimes(store, accountId),
    setOwnTimes: (wanted, actor) => setOwnTimes(store, wanted, actor),
    readSweep: () => readSweep(store),
    beginRetention: (actor) => beginRetention(store, actor),

    readHold: () => readHold(store),
    holdLanes: (reason, actor) => holdLanes(store, reason, actor),
    releaseHold: (actor) => releaseHold(store, actor),

    listWorkers: () => listWorkers(store),
    listHeldLanes: () => listHeldLanes(store),
  }
}

function createAccounts(store: Store): Pick<Administration, 'createAccount' | 'listAccounts'> {
  return {
    createAccount: (name, actor) =>
      change(store, actor, async (making) => {
        const same = await making.tables.selectFrom('account').select('id').where('name', '=', name).executeTakeFirst()
        if (same) throw new Refusal('account_exists', `There is an account named “${name}” already.`)
        const account = { id: newAccountId(), name, createdAt: making.at }
        await making.tables.insertInto('account').values({ id: account.id, name, created_at: making.at }).execute()
        await writeAudit(making, {
          action: 'account.create',
          object: account.id,
          accountId: account.id,
          detail: { name },
        })
        return account
      }),
    async listAccounts() {
      return store.database
        .selectFrom('account')
        .select(['id', 'name', 'created_at as createdAt'])
        .orderBy('created_at')
        .orderBy('id')
        .execute()
    },
  }
}
