import { sql } from 'kysely'
import type { AccountId, Instant, TokenId } from '../../../core/ids.ts'
import type { TokenActivity, TokenActivityEntry, TokenCaller, TokenUse } from '../../../core/ports/console/tokens.ts'
import { countRequests, requestsOfRow } from '../api-log/count-requests.ts'
import type { Span } from '../engine.ts'
import type { LongTable } from '../overview/lower-bound-by-time.ts'
import type { Reader, Reading } from '../store.ts'
import { readToken } from './token-rows.ts'

// Reading these takes some 10 ms on SQLite and 30 ms on PostgreSQL on a small machine. More would be exact for busier
// accounts, but a person notices 50 ms.
const MOST_ROWS = 10_000
// One for each day, on the engine that has several.
const MOST_SPANS = 32

interface Wanted {
  readonly accountId: AccountId
  /** Null: all of the account. */
  readonly tokenId: TokenId | null
  readonly since: Instant
}

/** The part of both sources of the API log that is read, and since when it is complete. */
interface Scanned extends Wanted {
  readonly tables: Reader
  readonly messages: Recent
  readonly requests: Recent
  readonly countedFrom: Instant
}

export async function countTokenUse(reading: Reading, wanted: Wanted): Promise<TokenUse> {
  return countCallers(await scan(reading, wanted), wanted)
}

/** Refuses with `token_unknown`, also for a token of another account. */
export async function describeTokenUse(
  reading: Reading,
  wanted: Wanted & { tokenId: TokenId },
): Promise<TokenActivity> {
  await readToken(reading.tables, wanted.accountId, wanted.tokenId)
  const scanned = await scan(reading, wanted)
  const use = await countCallers(scanned, wanted)
  return { ...use, activity: [...(await acceptedActivity(scanned)), ...(await otherActivity(scanned))] }
}

async function scan(reading: Reading, wanted: Wanted): Promise<Scanned> {
  const messages = await recentRows(reading, 'message', wanted)
  const requests = await recentRows(reading, 'request', wanted)
  const countedFrom = Math.max(messages.completeFrom, requests.completeFrom)
  return { ...wanted, tables: reading.tables, messages, requests, countedFrom }
}

async function countCallers(scanned: Scanned, { since }: Wanted): Promise<TokenUse> {
  const accepted = await acceptedCallers(scanned).execute()
  const others = await otherCallers(scanned).execute()
  const callers = new Map<string, TokenCaller>()
  for (const row of [...accepted.map((some) => ({ ...some, refused: 0 })), ...others]) {
    const { token_id, remote_address, user_agent, requests, refused, last_at } = row
    if (token_id === null) continue
    const key = JSON.stringify([token_id, remote_address, user_agent])
    const before = callers.get(key)
    callers.set(key, {
      tokenId: token_id,
      address: remote_address,
      userAgent: user_agent,
      requests: requests + (before?.requests ?? 0),
      refused: refused + (before?.refused ?? 0),
      lastAt: Math.max(last_at, before?.lastAt ?? 0),
    })
  }
  const { countedFrom } = scanned
  return {
    countedFrom,
    isComplete: countedFrom === since,
    callers: [...callers.values()].sort((one, other) => other.requests - one.requests || other.lastAt - one.lastAt),
  }
}

function acceptedCallers(scanned: Scanned) {
  return acceptedRows(scanned)
    .select([
      'token_id',
      'remote_address',
      'user_agent',
      ({ fn }) => fn.countAll<number>().as('requests'),
      ({ fn }) => fn.max('accepted_at').as('last_at'),
    ])
    .groupBy(['token_id', 'remote_address', 'user_agent'])
}

function otherCallers(scanned: Scanned) {
  return otherRows(scanned)
    .select([
      'token_id',
      'remote_address',
      'user_agent',
      countRequests().as('requests'),
      sql<number>`coalesce(sum(case when message_id is null then ${requestsOfRow()} end), 0)`.as('refused'),
      // Only the first time of a sum certainly belongs to one of its requests.
      sql<Instant>`max(coalesce(summed_since, received_at))`.as('last_at'),
    ])
    .groupBy(['token_id', 'remote_address', 'user_agent'])
}

async function acceptedActivity(scanned: Scanned): Promise<TokenActivityEntry[]> {
  const rows = await acceptedRows(scanned)
    .select(['connection_id', 'type', 'state', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy(['connection_id', 'type', 'state'])
    .execute()
  const ids = [...new Set(rows.map(({ connection_id }) => connection_id))]
  if (ids.length === 0) return []
  const connections = await scanned.tables
    .selectFrom('connection')
    .select(['id', 'number'])
    .where('account_id', '=', scanned.accountId)
    .where('id', 'in', ids)
    .execute()
  const numbers = new Map(connections.map(({ id, number }) => [id, number]))
  return rows.map(({ connection_id, type, state, count }) => ({
    number: numbers.get(connection_id) ?? null,
    type,
    state,
    status: null,
    count,
  }))
}

/** Without repeats, because their messages are among the accepted ones. */
async function otherActivity(scanned: Scanned): Promise<TokenActivityEntry[]> {
  const rows = await otherRows(scanned)
    .select(['status', countRequests().as('count')])
    .where('message_id', 'is', null)
    .groupBy('status')
    .execute()
  return rows.map(({ status, count }) => ({ number: null, type: null, state: null, status, count }))
}

/** Without copies that a person made, because no request asked for them. */
function acceptedRows({ tables, accountId, tokenId, messages, countedFrom }: Scanned) {
  const query = tables
    .selectFrom('message')
    .where('account_id', '=', accountId)
    .where('sequence', '>=', messages.from)
    .where('sequence', '<', messages.before)
    .where('request_id', 'is not', null)
    .where('accepted_at', '>=', countedFrom)
  return tokenId === null ? query : query.where('token_id', '=', tokenId)
}

function otherRows({ tables, accountId, tokenId, requests, countedFrom }: Scanned) {
  const query = tables
    .selectFrom('request')
    .where('account_id', '=', accountId)
    .where('sequence', '>=', requests.from)
    .where('sequence', '<', requests.before)
    .where('received_at', '>=', countedFrom)
  return tokenId === null ? query : query.where('token_id', '=', tokenId)
}

/** The newest rows of an account in a table. */
interface Recent extends Span {
  /** All rows from this time on are included: the wanted time, or a later one when there are too many rows to read. */
  readonly completeFrom: Instant
}

async function recentRows(
  { tables, engine }: Reading,
  table: LongTable,
  { accountId, since }: Pick<Wanted, 'accountId' | 'since'>,
): Promise<Recent> {
  const spans = (await engine.spans(tables)).slice(0, MOST_SPANS)
  const all: Span = { from: spans.at(-1)?.from ?? 0, before: spans[0]?.before ?? 0 }
  const rows = tables.selectFrom(table).where(engine.ofAccount(accountId, all))
  // By the index of the account alone: only of the last of them more is read.
  const numbers = rows.select('sequence').orderBy('account_id', 'desc').orderBy('sequence', 'desc').limit(1)
  const newest = await numbers.executeTakeFirst()
  if (!newest) return { from: 0, before: 0, completeFrom: since }
  const before = newest.sequence + 1
  const oldest = await numbers.offset(MOST_ROWS).executeTakeFirst()
  if (!oldest) return { from: all.from, before, completeFrom: since }
  const time = sql.ref<Instant>(table === 'message' ? 'accepted_at' : 'received_at')
  const { at } = await rows.select(time.as('at')).where('sequence', '=', oldest.sequence).executeTakeFirstOrThrow()
  // Older rows may have the same millisecond.
  return { from: oldest.sequence, before, completeFrom: at < since ? since : at + 1 }
}
