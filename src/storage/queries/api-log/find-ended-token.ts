import type { EndedToken } from '../../../core/token/token.ts'
import type { Reader } from '../store.ts'
import type { FoundEntry } from './log-source.ts'

/** Why the token of a refused request was no longer valid when the request came. */
export async function findEndedToken(
  tables: Reader,
  { token: used, status, receivedAt }: Pick<FoundEntry, 'token' | 'status' | 'receivedAt'>,
): Promise<EndedToken | null> {
  if (used === null || status !== 401) return null
  const tokenId = used.id
  const token = await tables
    .selectFrom('token')
    .select(['account_id', 'name', 'deleted_at', 'expires_at', 'successor_id'])
    .where('id', '=', tokenId)
    .executeTakeFirst()
  if (!token) return null
  const { account_id, name, deleted_at, expires_at, successor_id } = token
  const whoDid = async (action: string) => {
    const done = await tables
      .selectFrom('audit')
      .select('actor')
      .where('account_id', '=', account_id)
      .where('action', '=', action)
      .where('object', '=', tokenId)
      .orderBy('sequence', 'desc')
      .limit(1)
      .executeTakeFirst()
    return done?.actor ?? null
  }
  if (deleted_at !== null && deleted_at <= receivedAt)
    return { name, how: 'deleted', at: deleted_at, by: await whoDid('token.delete') }
  if (expires_at > receivedAt) return null
  if (successor_id === null) return { name, how: 'expired', at: expires_at, by: null }
  return { name, how: 'replaced', at: expires_at, by: await whoDid('token.rotate') }
}
