import { sql } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { RetentionView } from '../../../core/ports/console/overview.ts'
import { isOnlyAccount } from '../people/is-only-account.ts'
import type { Store } from '../store.ts'
import { ALL_CONNECTIONS } from './hour-tally.ts'
import { hourOf } from './hours.ts'
import { readCounted } from './read-bars.ts'
import { type Recent, readRecent } from './recent.ts'

const MOST_FILES = 20_000

export async function readRetention(store: Store, accountId: AccountId): Promise<RetentionView> {
  const { database, engine } = store
  const now = store.now()
  const keptBack = await readKeptBack(store, accountId)
  const oldest = await findOldest(store, accountId, 0)
  const recent = await readRecent(store, accountId, now)
  const oldestInLine = keptBack.count === 0 ? oldest : await findOldest(store, accountId, keptBack.last + 1)
  return {
    now,
    messages:
      keptBack.count +
      (oldestInLine === null ? 0 : await countSince(store, accountId, { since: oldestInLine, recent })),
    ...(await readCounted(store, { accountId, from: 0, now, recent })),
    oldestAt: oldest,
    spool: await readSpool(store, accountId),
    databaseBytes: (await isOnlyAccount(database, accountId)) ? await engine.overview.databaseBytes(database) : null,
  }
}

/**
 * The old messages that deletion has kept back. Messages are deleted in the order of their acceptance, so up to the last of
 * these (`last`; 0: there is none) no other message is left, although hours before it may still have figures.
 */
async function readKeptBack(
  { database }: Store,
  accountId: AccountId,
): Promise<{ readonly count: number; readonly last: Sequence }> {
  const { rows } = await sql<{ count: number; last: number | null }>`
    select count(*) as count, max(message_sequence) as last from retention_kept
      where account_id = ${accountId} and what = 'message'`.execute(database)
  return { count: Number(rows[0]?.count ?? 0), last: Number(rows[0]?.last ?? 0) }
}

async function findOldest(store: Store, accountId: AccountId, from: Sequence): Promise<Instant | null> {
  for (const span of (await store.engine.spans(store.database)).toReversed()) {
    const row = await store.database
      .selectFrom('message')
      .select('accepted_at')
      .where(store.engine.ofAccount(accountId, { from: Math.max(span.from, from), before: span.before }))
      .orderBy('account_id')
      .orderBy('sequence')
      .limit(1)
      .executeTakeFirst()
    if (row) return row.accepted_at
  }
  return null
}

async function countSince(
  { database }: Store,
  accountId: AccountId,
  { since, recent }: { readonly since: Instant; readonly recent: Recent | null },
): Promise<number> {
  const counted = await database
    .selectFrom('tally')
    .select(sql<number | null>`sum(count)`.as('messages'))
    .where('account_id', '=', accountId)
    .where('connection_id', '=', ALL_CONNECTIONS)
    .where('state', '<>', 'refused')
    .where('hour', '>=', hourOf(since))
    .where('hour', '<', recent?.from ?? Number.MAX_SAFE_INTEGER)
    .executeTakeFirst()
  return Number(counted?.messages ?? 0) + (recent?.messages.filter(({ at }) => at >= since).length ?? 0)
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
