import { type Selectable, sql, type Transaction } from 'kysely'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import { composePayload, type StoredNotification } from '../../../core/notifications/compose-payload.ts'
import { isNotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { Deliveries } from '../../../core/ports/deliveries.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import { changeDeliveries } from './change-deliveries.ts'
import { updateWebhook } from './webhook-rows.ts'

// On a laptop some 10 ms of writing, because the service writes at the same time and must not wait long.
const NOTICES_AT_ONCE = 200
// The accounts with the oldest new notifications come first; the others follow in the next round.
const ACCOUNTS_AT_ONCE = 50
const ROWS_PER_STATEMENT = 200
/** How many notifications may wait for one webhook. Beyond it the oldest are dropped, because new ones matter more. */
export const MOST_WAITING = 10_000

type NoticeRow = Selectable<Tables['notice']>
type Hook = Pick<Selectable<Tables['webhook']>, 'account_id' | 'id'> & { readonly kinds: ReadonlySet<string> }

/** See `Deliveries.fanOut`. */
export function fanOut(store: Store, mostWaiting: number): ReturnType<Deliveries['fanOut']> {
  return changeDeliveries(store, async (tables) => {
    const notices = await readNew(tables)
    if (notices.length === 0) return { notifications: 0, dropped: 0, damaged: [] }
    const hooks = await readHooks(tables, [...new Set(notices.map((notice) => notice.account_id))])
    const { rows, damaged } = await makeRows(tables, { notices, hooks, at: store.now() })
    for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT)
      await tables
        .insertInto('delivery')
        .values(rows.slice(from, from + ROWS_PER_STATEMENT))
        .execute()
    await tables
      .updateTable('notice')
      .set({ is_new: 0 })
      .where(
        'position',
        'in',
        notices.map(({ position }) => position),
      )
      .execute()
    let dropped = 0
    const served = new Set(rows.map((row) => row.webhook_id))
    for (const hook of [...hooks.values()].flat())
      if (served.has(hook.id)) dropped += await dropOldest(tables, { hook, mostWaiting, at: store.now() })
    return { notifications: notices.length, dropped, damaged }
  })
}

/** The oldest ones, a share of each account, so that an account with a million does not delay others (G8). */
async function readNew(tables: Transaction<Tables>): Promise<readonly NoticeRow[]> {
  // Steps through the index from account to account, so that a million rows of one account cost one lookup.
  const { rows: accounts } = await sql<{ id: AccountId }>`
    with recursive found (id) as (
      select (select account_id from notice where is_new = 1 order by account_id limit 1)
      union all
      select (select account_id from notice where is_new = 1 and account_id > found.id order by account_id limit 1)
        from found where found.id is not null)
    select id from found where id is not null
      order by (select position from notice where is_new = 1 and account_id = found.id order by position limit 1)
      limit ${sql.lit(ACCOUNTS_AT_ONCE)}`.execute(tables)
  const notices: NoticeRow[] = []
  for (const [at, { id }] of accounts.entries()) {
    const part = Math.floor((NOTICES_AT_ONCE - notices.length) / (accounts.length - at))
    notices.push(
      ...(await tables
        .selectFrom('notice')
        .selectAll()
        .where('is_new', '=', sql.lit(1))
        .where('account_id', '=', id)
        .orderBy('position')
        .limit(part)
        .execute()),
    )
  }
  return notices
}

async function readHooks(
  tables: Transaction<Tables>,
  accounts: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, readonly Hook[]>> {
  const rows = await tables
    .selectFrom('webhook')
    .select(['account_id', 'id', 'kinds'])
    .where('account_id', 'in', accounts)
    .where('state', '=', 'enabled')
    .execute()
  const hooks = rows.map((row) => ({ ...row, kinds: new Set(JSON.parse(row.kinds) as string[]) }))
  return Map.groupBy(hooks, (hook) => hook.account_id)
}

interface ToMake {
  readonly notices: readonly NoticeRow[]
  readonly hooks: ReadonlyMap<AccountId, readonly Hook[]>
  readonly at: Instant
}

async function makeRows(tables: Transaction<Tables>, { notices, hooks, at }: ToMake) {
  const damaged: string[] = []
  const wanted = notices.flatMap((notice) => {
    const { kind } = notice
    const those = (hooks.get(notice.account_id) ?? []).filter(({ kinds }) => kinds.has(notice.kind))
    if (those.length === 0 || !isNotificationKind(kind)) return []
    const data = readData(notice.data)
    if (data) return [{ notice, kind, those, data }]
    damaged.push(notice.id)
    return []
  })
  const numbers = await readNumbers(
    tables,
    wanted.flatMap(({ data }) => (typeof data['connectionId'] === 'string' ? [data['connectionId']] : [])),
  )
  const rows = wanted.flatMap(({ notice, kind, those, data }) => {
    const payload = compose({ kind, at: notice.at, data }, numbers.get(String(data['connectionId'])) ?? null)
    if (payload === null) damaged.push(notice.id)
    if (payload === null) return []
    return those.map((hook) => ({
      account_id: notice.account_id,
      webhook_id: hook.id,
      notice_position: notice.position,
      kind,
      payload,
      created_at: at,
      state: 'waiting' as const,
      next_try_at: at,
    }))
  })
  return { rows, damaged }
}

/** Null for damaged data, which must not block the other notifications of its commit for ever (G8, G11). */
function readData(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const data: unknown = JSON.parse(text)
    return typeof data === 'object' ? (data as Record<string, unknown> | null) : null
  } catch {
    return null
  }
}

/** Null when the data lacks what its kind always has. */
function compose(kept: StoredNotification, from: string | null): string | null {
  try {
    return composePayload(kept, from)
  } catch {
    return null
  }
}

async function readNumbers(tables: Transaction<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tables
    .selectFrom('connection')
    .select(['id', 'number'])
    .where('id', 'in', [...new Set(ids)] as ConnectionId[])
    .execute()
  return new Map(rows.map(({ id, number }) => [id, number]))
}

async function dropOldest(
  tables: Transaction<Tables>,
  { hook, mostWaiting, at }: { readonly hook: Hook; readonly mostWaiting: number; readonly at: Instant },
): Promise<number> {
  const waiting = tables
    .selectFrom('delivery')
    .select('notice_position')
    .where('account_id', '=', hook.account_id)
    .where('webhook_id', '=', hook.id)
    .where('state', '=', sql.lit('waiting'))
  // One lookup in an index that holds only waiting deliveries.
  const past = await waiting.orderBy('notice_position', 'desc').offset(mostWaiting).limit(1).executeTakeFirst()
  if (!past) return 0
  const { numUpdatedRows } = await tables
    .updateTable('delivery')
    .set({ state: 'dropped', next_try_at: null, claim: null, ended_at: at })
    .where('account_id', '=', hook.account_id)
    .where('webhook_id', '=', hook.id)
    .where('state', '=', sql.lit('waiting'))
    .where('notice_position', '<=', past.notice_position)
    .executeTakeFirst()
  const dropped = Number(numUpdatedRows)
  const of = { accountId: hook.account_id, id: hook.id }
  await updateWebhook(tables, of, { dropped: sql`dropped + ${dropped}` }).execute()
  return dropped
}
