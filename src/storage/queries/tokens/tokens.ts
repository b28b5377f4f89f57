import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import type { Administration, NewToken, TokenView } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { TokenEvent } from '../../../core/token/token.ts'
import { newTokenId } from '../new-id.ts'
import { type Change, change, type Reader, type Store, writeAudit } from '../store.ts'
import { type StoredToken, selectTokens } from './token-rows.ts'

export function createTokens(store: Store): Pick<Administration, 'createToken' | 'listTokens' | 'deleteToken'> {
  return {
    createToken(token, actor) {
      return change(store, actor, async (making) => view(making.tables, await addToken(making, token)))
    },
    async listTokens(accountId) {
      const rows = await selectTokens(store.database, accountId)
        .orderBy('t.created_at', 'desc')
        .orderBy('t.id', 'desc')
        .execute()
      return rows.map(toTokenView)
    },
    deleteToken: (which, accountId, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const token = await findOne(tables, which, accountId)
        await tables.updateTable('token').set({ deleted_at: at }).where('id', '=', token.id).execute()
        await writeAudit(making, {
          action: 'token.delete',
          object: token.id,
          accountId: token.accountId,
          detail: { name: token.name },
        })
        return view(tables, token.id)
      }),
  }
}

/** In a change that does more than this. Writes the audit log. Refuses with `token_exists`. */
export async function addToken(making: Change, token: NewToken): Promise<TokenId> {
  const { tables, at, actor } = making
  const { accountId, name } = token
  await refuseTakenName(tables, accountId, name)
  const id = newTokenId()
  await tables
    .insertInto('token')
    .values({
      id,
      account_id: accountId,
      name,
      sha256: token.sha256,
      prefix: token.prefix,
      events: JSON.stringify(token.events),
      connection_ids: listText(token.connectionIds),
      source_ranges: listText(token.sourceRanges),
      created_at: at,
      expires_at: token.expiresAt,
      created_by: actor,
    })
    .execute()
  const detail = {
    name,
    events: token.events,
    expiresAt: token.expiresAt,
    connections: token.connectionIds,
    sources: token.sourceRanges,
  }
  await writeAudit(making, { action: 'token.create', object: id, accountId, detail })
  return id
}

/** The name of a deleted token is free again. */
export async function isTaken(tables: Reader, accountId: AccountId, name: string): Promise<boolean> {
  const same = await tables
    .selectFrom('token')
    .select('id')
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return same !== undefined
}

export async function refuseTakenName(tables: Reader, accountId: AccountId, name: string): Promise<void> {
  if (await isTaken(tables, accountId, name))
    throw new Refusal(
      'token_exists',
      `There is a token named “${name}” already. Delete it first, or choose another name.`,
      'name',
    )
}

async function findOne(tables: Reader, which: string, accountId: AccountId | null): Promise<StoredToken> {
  const fitting = await selectTokens(tables, accountId)
    .where((where) =>
      where.or([where('t.id', '=', which as TokenId), where('t.prefix', '=', which), where('t.name', '=', which)]),
    )
    .execute()
  const living = fitting.filter((row) => row.deletedAt === null)
  // An id always names the same token, even if it is the name or prefix of another.
  const byId = living.find((row) => row.id === which)
  if (byId) return byId
  if (living.length > 1)
    throw new Refusal('token_ambiguous', `${living.length} tokens fit “${which}”: say which one by its id.`)
  if (living[0]) return living[0]
  throw new Refusal(
    'token_unknown',
    fitting.length > 0
      ? `The token “${which}” was deleted already.`
      : `There is no token with the id, prefix or name “${which}”.`,
  )
}

async function view(tables: Reader, id: TokenId): Promise<TokenView> {
  return toTokenView(await selectTokens(tables, null).where('t.id', '=', id).executeTakeFirstOrThrow())
}

function toTokenView({ events, ...row }: StoredToken): TokenView {
  return { ...row, events: JSON.parse(events) as TokenEvent[] }
}

function listText(items: readonly (ConnectionId | string)[] | null): string | null {
  return items === null ? null : JSON.stringify(items)
}
