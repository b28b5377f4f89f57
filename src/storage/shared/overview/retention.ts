import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import type { RetentionView } from '../../../core/ports/console/overview.ts'
import type { Store } from '../store.ts'
import { ALL_CONNECTIONS } from './hour-tally.ts'
import { readCounted } from './read-bars.ts'

const MOST_FILES = 20_000

export async function readRetention(store: Store, accountId: AccountId): Promise<RetentionView> {
  const { database, engine } = store
  const now = store.now()
  const counted = await database
    .selectFrom('tally')
    .select(({ fn }) => [sql<number | null>`sum(count)`.as('messages'), fn.min('hour').as('first_hour')])
    .where('account_id', '=', accountId)
    .where('connection_id', '=', ALL_CONNECTIONS)
    .where('state', '<>', 'refused')
    .executeTakeFirst()
  return {
    now,
    messages: Number(counted?.messages ?? 0),
    ...(await readCounted(store, { accountId, from: 0, now })),
    // To the hour: whoever asks wants to know since when things are kept, not by which message.
    oldestAt: counted?.first_hour ?? null,
    spool: await readSpool(store, accountId),
    databaseBytes: (await isOnlyAccount(store, accountId)) ? await engine.overview.databaseBytes(database) : null,
  }
}

async function readSpool({ database }: Store, accountId: AccountId): Promise<RetentionView['spool']> {
  const some = database
    .selectFrom('media')
    .select('size_bytes')
    .where('account_id', '=', accountId)
    .where('state', '=', sql.lit('ready'))
    .limit(MOST_FILES + 1)
  const row = await database
    .selectFrom(some.as('files'))
    .select(({ fn }) => [fn.countAll<number>().as('files'), sql<number | null>`sum(size_bytes)`.as('bytes')])
    .executeTakeFirst()
  const files = row?.files ?? 0
  return { files: Math.min(files, MOST_FILES), bytes: Number(row?.bytes ?? 0), isMore: files > MOST_FILES }
}

async function isOnlyAccount({ database }: Store, accountId: AccountId): Promise<boolean> {
  const other = await database
    .selectFrom('account')
    .select('id')
    .where('id', '<>', accountId)
    .limit(1)
    .executeTakeFirst()
  return other === undefined
}
