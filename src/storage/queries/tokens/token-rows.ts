import type { AccountId, ConnectionId, Instant, TokenId } from '../../../core/ids.ts'
import type {
  TokenConnection,
  TokenDetails,
  TokenRow,
  TokenRows,
  TokenTab,
} from '../../../core/ports/console/tokens.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Token, TokenEvent } from '../../../core/token/token.ts'
import type { Reader, Store } from '../store.ts'

const PAGE = 50

export async function listTokenRows(
  { database, now }: Store,
  accountId: AccountId,
  { tab, after }: { readonly tab: TokenTab; readonly after: string | null },
): Promise<TokenRows> {
  let query = selectTokens(database, accountId)
    .where('t.deleted_at', tab === 'deleted' ? 'is not' : 'is', null)
    .orderBy('t.created_at', 'desc')
    .orderBy('t.id', 'desc')
    .limit(PAGE + 1)
  if (tab !== 'deleted') query = query.where('t.expires_at', tab === 'active' ? '>' : '<=', now())
  const [, createdAt, id] = /^([0-9]{1,15})\.(tok_[0-9a-z]+)$/.exec(after ?? '') ?? []
  if (createdAt !== undefined) {
    query = query.where((where) =>
      where.or([
        where('t.created_at', '<', Number(createdAt)),
        where.and([where('t.created_at', '=', Number(createdAt)), where('t.id', '<', id as TokenId)]),
      ]),
    )
  }
  const rows = await query.execute()
  const shown = rows.slice(0, PAGE)
  const last = shown.at(-1)
  return {
    items: await withConnections(database, accountId, shown),
    next: last && rows.length > PAGE ? `${last.createdAt}.${last.id}` : null,
    counts: await countTabs(database, accountId, now()),
  }
}

async function countTabs(tables: Reader, accountId: AccountId, at: Instant): Promise<Record<TokenTab, number>> {
  const row = await tables
    .selectFrom('token')
    .where('account_id', '=', accountId)
    .select(({ fn }) => [
      fn.countAll().filterWhere('deleted_at', 'is not', null).as('deleted'),
      fn.countAll().filterWhere('deleted_at', 'is', null).filterWhere('expires_at', '>', at).as('active'),
      fn.countAll().filterWhere('deleted_at', 'is', null).filterWhere('expires_at', '<=', at).as('expired'),
    ])
    .executeTakeFirstOrThrow()
  return { active: Number(row.active), expired: Number(row.expired), deleted: Number(row.deleted) }
}

/** Refuses with `token_unknown`, also for a token of another account. */
export async function readToken(tables: Reader, accountId: AccountId, id: TokenId): Promise<TokenDetails> {
  const found = await selectTokens(tables, accountId).where('t.id', '=', id).executeTakeFirst()
  if (!found) throw new Refusal('token_unknown')
  const [row] = await withConnections(tables, accountId, [found])
  const { successorId, deletedAt } = found
  const successor = successorId === null ? undefined : await name(tables, accountId, 'id', successorId)
  const predecessor = await name(tables, accountId, 'successor_id', id)
  return {
    ...(row as TokenRow),
    deletedBy: deletedAt === null ? null : await findTokenActor(tables, { accountId, id }, 'token.delete'),
    successor: successor ? { ...successor } : null,
    predecessor: predecessor ? { ...predecessor } : null,
  }
}

/** Who last did this to the token; null: the audit log no longer has it. */
export async function findTokenActor(
  tables: Reader,
  { accountId, id }: Pick<StoredToken, 'accountId' | 'id'>,
  action: 'token.delete' | 'token.rotate',
): Promise<string | null> {
  const done = await tables
    .selectFrom('audit')
    .select('actor')
    .where('account_id', '=', accountId)
    .where('action', '=', action)
    .where('object', '=', id)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return done?.actor ?? null
}

export function listTokenConnections(tables: Reader, accountId: AccountId): Promise<TokenConnection[]> {
  return selectConnections(tables, accountId).where('state', '<>', 'removed').execute()
}

function selectConnections(tables: Reader, accountId: AccountId) {
  return tables
    .selectFrom('connection')
    .select(['id', 'number', 'name', 'channel', 'state'])
    .where('account_id', '=', accountId)
    .orderBy('number')
}

// biome-ignore lint/complexity/useMaxParams: which of two columns, and what stands in it
function name(tables: Reader, accountId: AccountId, column: 'id' | 'successor_id', id: TokenId) {
  return tables
    .selectFrom('token')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where(column, '=', id)
    .executeTakeFirst()
}

/** Null: the tokens of all accounts. */
export function selectTokens(tables: Reader, accountId: AccountId | null) {
  return tables
    .selectFrom('token as t')
    .innerJoin('account as a', 'a.id', 't.account_id')
    .$if(accountId !== null, (query) => query.where('t.account_id', '=', accountId as AccountId))
    .select([
      't.id',
      't.account_id as accountId',
      'a.name as account',
      't.name',
      't.prefix',
      't.events',
      't.connection_ids as connectionIds',
      't.source_ranges as sourceRanges',
      't.created_at as createdAt',
      't.created_by as createdBy',
      't.expires_at as expiresAt',
      't.last_used_at as lastUsedAt',
      't.deleted_at as deletedAt',
      't.successor_id as successorId',
    ])
}

export type StoredToken = Awaited<ReturnType<ReturnType<typeof selectTokens>['execute']>>[number]

async function withConnections(
  tables: Reader,
  accountId: AccountId,
  rows: readonly StoredToken[],
): Promise<TokenRow[]> {
  const bound = rows.map(({ connectionIds }) => connectionIds && (JSON.parse(connectionIds) as ConnectionId[]))
  const ids = [...new Set(bound.flatMap((some) => some || []))]
  // Removed ones too: a token stays bound to them.
  const known = ids.length === 0 ? [] : await selectConnections(tables, accountId).where('id', 'in', ids).execute()
  return rows.map(({ events, sourceRanges, accountId: _, account: __, connectionIds: ___, ...row }, index) => {
    const mine = bound[index]
    return {
      ...row,
      events: JSON.parse(events) as TokenEvent[],
      connections: mine ? known.filter(({ id }) => mine.includes(id)).map((some) => ({ ...some })) : null,
      sourceRanges: sourceRanges === null ? null : (JSON.parse(sourceRanges) as string[]),
    }
  })
}

/** A row of `token`, as accepting reads it on both engines. */
export function toToken(row: Readonly<Record<string, unknown>>): Token {
  return {
    id: row['id'] as TokenId,
    accountId: row['account_id'] as AccountId,
    events: JSON.parse(row['events'] as string) as TokenEvent[],
    expiresAt: row['expires_at'] as number,
    deletedAt: row['deleted_at'] as number | null,
    connectionIds: JSON.parse((row['connection_ids'] as string | null) ?? 'null') as ConnectionId[] | null,
    sourceRanges: JSON.parse((row['source_ranges'] as string | null) ?? 'null') as string[] | null,
  }
}
