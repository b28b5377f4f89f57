import type { Selectable } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { mentionsNumber } from '../../../core/message/erased.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Span } from '../engine.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import { pages } from '../pages.ts'
import type { Store } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

/** Rows that one query reads in some 10 ms; other writers run in between. */
const ROWS_AT_ONCE = 5_000
/** Fewer, because bodies of refused requests may have 64 KiB each. */
const REQUESTS_AT_ONCE = 250
const MEMORIES_AT_ONCE = 1_000

export interface OfRecipient {
  readonly accountId: AccountId
  readonly recipient: string
}

/** Called with the number of rows that were read so far. */
export type OnProgress = (rows: number) => void

/**
 * The messages of an account to one number, some at a time. Every acceptance would pay for an index of recipients, so there is
 * none: all messages of the account are read, in order of acceptance.
 */
export async function* messagesTo(
  store: Store,
  { accountId, recipient }: OfRecipient,
  onProgress: OnProgress = () => {},
): AsyncGenerator<readonly Sequence[]> {
  let rows = 0
  const all = accepted(store, ROWS_AT_ONCE, (span) =>
    store.database
      .selectFrom('message')
      .select(['sequence', 'recipient'])
      .where(store.engine.ofAccount(accountId, span))
      .orderBy('account_id')
      .orderBy('sequence')
      .limit(ROWS_AT_ONCE)
      .execute(),
  )
  for await (const found of all) {
    rows += found.length
    onProgress(rows)
    const sequences = found.filter((row) => row.recipient === recipient).map(({ sequence }) => sequence)
    if (sequences.length > 0) yield sequences
  }
}

/** What was accepted, period after period, the newest first, some at a time. */
async function* accepted<Row extends { readonly sequence: number }>(
  { database, engine }: Store,
  atOnce: number,
  read: (span: Span) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (const { from, before } of (await engine.spans(database)).toReversed())
    yield* pages<Row>(atOnce, (last) => read({ from: last ? last.sequence + 1 : from, before }), yieldToWriters)
}

type RequestRow = Selectable<Tables['request']>

/** Requests of an account that name the number, or that repeat one of these messages. */
export async function* requestsAbout(
  store: Store,
  { accountId, recipient, messageIds }: OfRecipient & { readonly messageIds: ReadonlySet<string> },
): AsyncGenerator<readonly RequestRow[]> {
  const all = accepted(store, REQUESTS_AT_ONCE, (span) =>
    store.database
      .selectFrom('request')
      .selectAll()
      .where(store.engine.ofAccount(accountId, span))
      .orderBy('account_id')
      .orderBy('sequence')
      .limit(REQUESTS_AT_ONCE)
      .execute(),
  )
  for await (const found of all) {
    const about = found.filter(
      ({ body, errors, user_agent: userAgent, message_id: id }) =>
        (id !== null && messageIds.has(id)) ||
        [body, errors, userAgent].some((text) => text !== null && mentionsNumber(text, recipient)),
    )
    if (about.length > 0) yield about
  }
}

type MemoryRow = Selectable<Tables['channel_memory']>

/** What channels remember that names the number, or one of these messages by our id or by the network’s. */
export async function* memoriesAbout(
  { database }: Store,
  { accountId, recipient, known }: OfRecipient & { readonly known: ReadonlySet<string> },
): AsyncGenerator<readonly MemoryRow[]> {
  const connections = await database.selectFrom('connection').select('id').where('account_id', '=', accountId).execute()
  const own = new Set<ConnectionId>(connections.map(({ id }) => id))
  const read = (last: MemoryRow | null) =>
    database
      .selectFrom('channel_memory')
      .selectAll()
      .where('position', '>', last?.position ?? 0)
      .orderBy('position')
      .limit(MEMORIES_AT_ONCE)
      .execute()
  for await (const found of pages(MEMORIES_AT_ONCE, read, yieldToWriters)) {
    const about = found.filter(
      ({ connection_id: id, key, value }) =>
        own.has(id) && (isKnown(key, known) || known.has(value) || mentionsNumber(`${key}\n${value}`, recipient)),
    )
    if (about.length > 0) yield about
  }
}

/** Keys name a message by its id, and often an attempt of it behind a `#`. */
function isKnown(key: string, known: ReadonlySet<string>): boolean {
  return known.has(key) || known.has(key.split('#', 1)[0] ?? key)
}

/** The ids of a message: ours, and that of its network. */
export async function namesOf({ database }: Store, sequences: readonly Sequence[]): Promise<readonly string[]> {
  const rows = await database
    .selectFrom('message')
    .select(['id', 'network_id'])
    .where('sequence', 'in', sequences)
    .execute()
  return rows.flatMap(({ id, network_id: networkId }) => (networkId === null ? [id] : [id, networkId]))
}
