import { hash } from 'node:crypto'
import type { AccountId } from '../../core/ids.ts'
import { type ApiLog, NO_FILTER } from '../../core/ports/console/api-log.ts'
import type { Changes } from '../../core/ports/console/changes.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import { createAdministration } from './administration.ts'
import { createAlarms } from './alarms/alarms.ts'
import { createApiLog } from './api-log/api-log.ts'
import { createDeviceSessions } from './connections/device-sessions.ts'
import { createInboxViews } from './inbox/inbox.ts'
import { createLaneViews } from './lanes/lane-views.ts'
import { createOverview } from './overview/overview.ts'
import { TallyCounter } from './overview/tally-counter.ts'
import { createAuditLog } from './people/audit-log.ts'
import { createPeople } from './people/people.ts'
import { createSessions } from './people/sessions.ts'
import { createBlockLists } from './recipients/block-lists.ts'
import type { Store } from './store.ts'
import { createTokenViews } from './tokens/token-views.ts'
import { createDeliveries } from './webhooks/deliveries.ts'
import { createWebhooks } from './webhooks/webhooks.ts'

// A screen of them.
const NEWEST = 30

interface ConsoleStoreParts {
  /** As `Changes.poll`: each engine reads the state of the whole database in its own way. */
  readonly poll: Changes['poll']
  /** Reports an error of the background job, which retries by itself. */
  readonly onError: (error: unknown) => void
}

interface OpenConsoleStore {
  readonly store: ConsoleStore
  /** Starts the background jobs. Harmless twice. */
  readonly start: () => void
  /** Resolves when the background jobs have ended. Harmless twice. */
  readonly stop: () => Promise<void>
}

/** The console's store over any engine that Kysely speaks to. Neither opens nor closes the database. */
export function createConsoleStore(store: Store, { poll, onError }: ConsoleStoreParts): OpenConsoleStore {
  const counter = new TallyCounter(store, { onFault: onError })
  const apiLog = createApiLog(store)
  return {
    store: {
      administration: createAdministration(store),
      people: createPeople(store),
      sessions: createSessions(store),
      apiLog,
      tokens: createTokenViews(store),
      lanes: createLaneViews(store),
      overview: createOverview(store, counter),
      alarms: createAlarms(store),
      inbox: createInboxViews(store),
      blockLists: createBlockLists(store),
      audit: createAuditLog(store),
      changes: { poll, pollAccount: (accountId) => checkAccount(store, apiLog, accountId) },
      deviceSessions: createDeviceSessions(store),
      webhooks: createWebhooks(store),
      deliveries: createDeliveries(store),
    },
    start: () => counter.start(),
    stop: () => counter.stop(),
  }
}

/** A mark that changes as soon as anything in the newest requests or in the lanes changes. */
export async function checkAccount(store: Store, apiLog: ApiLog, accountId: AccountId): Promise<string> {
  const lanes = store.database
    .selectFrom('lane')
    .innerJoin('connection', 'connection.id', 'lane.connection_id')
    .where('connection.account_id', '=', accountId)
    .select(({ fn }) => [
      fn.count('lane.wait_reason').as('waits'),
      fn.max('lane.wait_reason').as('reason'),
      fn.max('lane.wait_until').as('until'),
    ])
    .executeTakeFirst()
  const newest = apiLog.readPage(accountId, { filter: NO_FILTER, cursor: null, limit: NEWEST })
  return hash('sha256', JSON.stringify(await Promise.all([lanes, newest])), 'base64url')
}
