import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import type { Actor } from '../../../core/ports/administration.ts'
import type { RetentionState } from '../../../core/ports/retention.ts'
import { Refusal } from '../../../core/refusals.ts'
import {
  checkOwnTimes,
  NO_OWN_TIMES,
  type OwnTimes,
  type RetentionTimes,
} from '../../../core/retention/retention-times.ts'
import { change, type Store, writeAudit } from '../store.ts'
import { READ_STATE, toRetentionState } from './age-retention.ts'

export async function readOwnTimes({ database }: Store, accountId: AccountId): Promise<OwnTimes> {
  const row = await database
    .selectFrom('account_retention')
    .select(['bodies_days as bodiesDays', 'messages_days as messagesDays'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row ?? NO_OWN_TIMES
}

export async function readSweep({ database, now }: Store): Promise<RetentionState> {
  const { rows } = await sql.raw(READ_STATE).execute(database)
  return toRetentionState(rows[0], now())
}

/** Refuses with `argument_invalid` times that are longer than the installation's or contradict each other. */
export function setOwnTimes(
  store: Store,
  wanted: { readonly accountId: AccountId; readonly own: OwnTimes; readonly installation: RetentionTimes },
  actor: Actor,
): Promise<OwnTimes> {
  const { accountId, own, installation } = wanted
  const wrong = checkOwnTimes(own, installation)
  if (wrong !== null) throw new Refusal('argument_invalid', wrong)
  return change(store, actor, async (making) => {
    const values = { bodies_days: own.bodiesDays, messages_days: own.messagesDays }
    await making.tables
      .insertInto('account_retention')
      .values({ account_id: accountId, ...values })
      .onConflict((same) => same.column('account_id').doUpdateSet(values))
      .execute()
    await writeAudit(making, { action: 'retention.change', object: accountId, accountId, detail: { ...own } })
    return own
  })
}

/** Ends the wait after a copy or a long pause: the next sweep deletes expired rows. */
export function beginRetention(store: Store, actor: Actor): Promise<void> {
  return change(store, actor, async (making) => {
    await making.tables.updateTable('retention_state').set({ begins_at: making.at, waits_for: null }).execute()
    await writeAudit(making, { action: 'retention.begin', object: 'retention', accountId: null })
  })
}
