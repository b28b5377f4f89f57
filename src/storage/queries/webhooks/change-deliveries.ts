import type { Transaction } from 'kysely'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

/** Runs one change of several deliveries in a transaction. Such changes run one at a time, so each must be short. */
export function changeDeliveries<Result>(
  store: Store,
  work: (tables: Transaction<Tables>) => Promise<Result>,
): Promise<Result> {
  return store.database.transaction().execute(async (tables) => {
    await store.engine.beginDelivering(tables)
    return work(tables)
  })
}
