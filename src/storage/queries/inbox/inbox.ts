import { type SqlBool, sql } from 'kysely'
import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type {
  ChatPage,
  ChatView,
  ClearedPage,
  DeliveredMedia,
  DeliveryTimeline,
  InboxViews,
  OwnConnection,
  ThreadPage,
  WantedChats,
  WantedPage,
} from '../../../core/ports/console/inbox.ts'
import { type Change, change, type Reader, type Reading, type Store, snapshot, writeAudit } from '../store.ts'
import { type Entry, entriesOf, INBOX_COLUMNS, readEntries, withStatuses } from './inbox-entries.ts'

// Reading this many of the newest deliveries takes some 10 ms. Reading more would need a second index, which every delivery
// would write. An older chat is found by its number.
export const CHATS_READ = 5_000
const TEXT_SHOWN = 200

// The search reads the deliveries of the whole connection, so many rows at a time: some 15 ms. For a rare recipient the
// caller continues where this ended.
const ROWS_READ = 7_000

export function createInboxViews(store: Store): InboxViews {
  return {
    async listSandboxes(accountId) {
      const rows = await store.database
        .selectFrom('connection')
        .select((row) => [
          'id',
          'number',
          'name',
          'state',
          row
            .selectFrom('channel_memory as m')
            .select('m.at')
            .where('m.kind', '=', sql.lit('sandbox.inbox'))
            .whereRef('m.connection_id', '=', 'connection.id')
            .orderBy('m.position', 'desc')
            .limit(1)
            .as('lastAt'),
        ])
        .where('account_id', '=', accountId)
        .where('channel', '=', 'sandbox')
        .orderBy(sql`case when state = 'removed' then 1 else 0 end`)
        .orderBy('number')
        .orderBy('created_at')
        .execute()
      return rows.map((row) => ({ ...row }))
    },
    async listChats(of, page) {
      const connection = await findConnection(store.database, of)
      return connection && listChats(store, connection.id, page)
    },
    async readConversation(of, to, page) {
      const connection = await findConnection(store.database, of)
      return connection && readConversation(store, { connectionId: connection.id, to }, page)
    },
    readUnread: (of, to, actor) => change(store, actor, (making) => readUnread(making, of, to)),
    clear: (of, page, actor) => change(store, actor, (making) => clear(making, of, page)),
    async explainDelivery(of, key) {
      const connection = await findConnection(store.database, of)
      return connection && explainDelivery(store, connection, key)
    },
    async findMedia(of, messageId) {
      const connection = await findConnection(store.database, of)
      return connection && findMedia(store, connection.id, messageId)
    },
  }
}

/** Null when it belongs to another account or channel, or does not exist. */
async function findConnection(tables: Reader, { accountId, connectionId }: OwnConnection) {
  const row = await tables
    .selectFrom('connection')
    .select(['id', 'number'])
    .where('id', '=', connectionId)
    .where('account_id', '=', accountId)
    .where('channel', '=', 'sandbox')
    .executeTakeFirst()
  return row ?? null
}

type Times = Pick<DeliveryTimeline, 'body' | 'acceptedAt' | 'publishedAt' | 'deliveredAt' | 'readAt'>

const NOTHING_KEPT: Times = { body: null, acceptedAt: null, publishedAt: null, deliveredAt: null, readAt: null }

function explainDelivery(
  store: Store,
  connection: { readonly id: ConnectionId; readonly number: string },
  key: string,
): Promise<DeliveryTimeline | null> {
  return snapshot(store, async (tables) => {
    const reading = { tables, engine: store.engine }
    const rows = await entriesOf(tables, connection.id).select(INBOX_COLUMNS).where('key', '=', key).execute()
    const [entry] = rows.flatMap(readEntries)
    const [delivery] = entry ? await withStatuses(reading, [entry]) : []
    if (!entry || !delivery) return null
    return { ...delivery, connection: connection.number, to: entry.to, ...(await readTimes(reading, entry.messageId)) }
  })
}

async function readTimes(reading: Reading, id: MessageId): Promise<Times> {
  const { tables, engine } = reading
  const sequence = await engine.locate(tables, id)
  if (sequence === null) return NOTHING_KEPT
  const row = await tables
    .selectFrom('message')
    .select(['body', 'accepted_at', 'published_at', 'body_deleted_at'])
    .where('sequence', '=', sequence)
    .executeTakeFirst()
  if (!row) return NOTHING_KEPT
  return {
    body: row.body_deleted_at === null ? row.body : null,
    acceptedAt: row.accepted_at,
    publishedAt: row.published_at,
    ...(await receiptTimes(reading, sequence)),
  }
}

async function receiptTimes({ tables }: Reading, sequence: Sequence): Promise<Pick<Times, 'deliveredAt' | 'readAt'>> {
  const rows = await tables
    .selectFrom('timeline')
    .select(['kind', 'at'])
    .where('message_sequence', '=', sequence)
    .where('kind', 'in', ['receipt-delivered', 'receipt-read'])
    .orderBy('position')
    .execute()
  const first = (kind: string): Instant | null => rows.find((row) => row.kind === kind)?.at ?? null
  return { deliveredAt: first('receipt-delivered'), readAt: first('receipt-read') }
}

/** Its message may have been delivered by several attempts: all of them carried the same file. */
async function findMedia(
  { database }: Store,
  connectionId: ConnectionId,
  messageId: MessageId,
): Promise<DeliveredMedia | null> {
  const rows = await entriesOf(database, connectionId)
    .select(INBOX_COLUMNS)
    .where('key', '>=', `${messageId}#`)
    // `$` comes right after `#`.
    .where('key', '<', `${messageId}$`)
    .execute()
  return rows.flatMap(readEntries).find(({ media }) => media !== null)?.media ?? null
}

function readConversation(
  store: Store,
  { connectionId, to }: { readonly connectionId: ConnectionId; readonly to: string },
  page: WantedPage,
): Promise<ThreadPage> {
  return snapshot(store, async (tables) => {
    const reading = { tables, engine: store.engine }
    const { entries, next } = await findEntries(reading, { connectionId, to }, page)
    return { items: await withStatuses(reading, entries.toReversed()), next }
  })
}

const MOST_READ = 500

async function readUnread(
  making: Change,
  of: OwnConnection,
  to: string,
): Promise<Awaited<ReturnType<InboxViews['readUnread']>>> {
  const connection = await findConnection(making.tables, of)
  if (!connection) return null
  const { entries } = await findEntries(making, { connectionId: connection.id, to }, { before: null, limit: MOST_READ })
  const unread = (await withStatuses(making, entries)).filter(
    ({ state }) => state === 'PUBLISHED' || state === 'DELIVERED',
  )
  const { accountId } = of
  if (unread.length > 0)
    await writeAudit(making, {
      action: 'message.mark-read',
      object: connection.id,
      accountId,
      detail: { messages: unread.length },
    })
  return unread
}

const UNDECIDED: ReadonlySet<string | null> = new Set(['QUEUED', 'SENDING', 'UNCONFIRMED'])

async function clear(making: Change, of: OwnConnection, page: WantedPage): Promise<ClearedPage | null> {
  const { tables } = making
  const connection = await findConnection(tables, of)
  if (!connection) return null
  const rows = await entriesOf(tables, connection.id)
    .select(INBOX_COLUMNS)
    .where('position', '<', page.before ?? Number.MAX_SAFE_INTEGER)
    .orderBy('position', 'desc')
    .limit(page.limit)
    .execute()
  // Where nothing was delivered, the place stays taken: a write of it may still be on its way.
  const states = await withStatuses(making, rows.flatMap(readEntries))
  const gone = new Map(states.filter(({ state }) => !UNDECIDED.has(state)).map((one) => [one.key, one]))
  const positions = rows.filter(({ key }) => gone.has(key)).map(({ position }) => position)
  if (positions.length > 0) {
    await tables.deleteFrom('channel_memory').where('position', 'in', positions).execute()
    const { accountId } = of
    const detail = { deliveries: positions.length }
    await writeAudit(making, { action: 'sandbox.clear', object: connection.id, accountId, detail })
  }
  return {
    count: positions.length,
    copies: [...gone.values()].flatMap(({ media, messageId }) => (media?.isCopied ? [messageId] : [])),
    next: rows.length < page.limit ? null : (rows.at(-1)?.position ?? null),
  }
}

/** The newest first. */
async function findEntries(
  { tables, engine }: Reading,
  { connectionId, to }: { readonly connectionId: ConnectionId; readonly to: string },
  { before, limit }: WantedPage,
): Promise<{ readonly entries: readonly Entry[]; readonly next: number | null }> {
  const rows = entriesOf(tables, connectionId)
    .where('position', '<', before ?? Number.MAX_SAFE_INTEGER)
    .orderBy('position', 'desc')
  // Found in the index alone.
  const end = await rows.select('position').offset(ROWS_READ).limit(1).executeTakeFirst()
  const found = await rows
    .select(INBOX_COLUMNS)
    .where('position', '>', end?.position ?? 0)
    .where(engine.jsonText('value', 'to'), '=', to)
    .limit(limit + 1)
    .execute()
  const shown = found.slice(0, limit)
  const isMore = found.length > limit
  return {
    entries: shown.flatMap(readEntries),
    next: (isMore ? shown.at(-1)?.position : end && end.position + 1) ?? null,
  }
}

interface Group {
  readonly recipient: string
  readonly last: number
  readonly count: number
}

function listChats(store: Store, connectionId: ConnectionId, page: WantedChats): Promise<ChatPage> {
  return snapshot(store, async (tables) => {
    const reading = { tables, engine: store.engine }
    const scanned = await countNewest(reading, connectionId)
    const groups = await groupNewest(reading, connectionId, page)
    const wanted = groups.slice(0, page.limit)
    const last = wanted.at(-1)
    return {
      items: await toChats(reading, connectionId, wanted),
      next: groups.length > page.limit && last ? last.last : null,
      scanned,
      isAll: scanned < CHATS_READ,
    }
  })
}

async function countNewest({ tables }: Reading, connectionId: ConnectionId): Promise<number> {
  const newest = entriesOf(tables, connectionId).select('position').orderBy('position', 'desc').limit(CHATS_READ)
  const { count } = await tables
    .selectFrom(newest.as('n'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** One more than the page holds, when there are more. */
async function groupNewest(
  { tables, engine }: Reading,
  connectionId: ConnectionId,
  { before, limit, find }: WantedChats,
): Promise<readonly Group[]> {
  const newest = entriesOf(tables, connectionId)
    .select(['position', 'value', engine.jsonText('value', 'to').as('recipient')])
    .orderBy('position', 'desc')
    .limit(CHATS_READ)
  let groups = tables
    .selectFrom(newest.as('n'))
    .select(({ fn }) => ['n.recipient', fn.max<number>('n.position').as('last'), fn.countAll<number>().as('count')])
    .where('n.recipient', 'is not', null)
    .groupBy('n.recipient')
    .orderBy('last', 'desc')
    .limit(limit + 1)
  if (find !== null) groups = groups.where(holds(engine, find))
  if (before !== null) groups = groups.having(({ fn }) => fn.max('n.position'), '<', before)
  const rows = await groups.execute()
  return rows.map((row) => ({ recipient: row.recipient ?? '', last: Number(row.last), count: Number(row.count) }))
}

const SOUGHT_IN = ['to', 'text', 'caption', 'name'] as const

/** SQLite knows upper and lower case of ASCII letters only, so the words are also searched as they were typed. */
function holds(engine: Reading['engine'], words: string) {
  const like = (text: string) => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
  return sql<SqlBool>`(${sql.join(
    SOUGHT_IN.map((name) => {
      const text = engine.jsonText('n.value', name)
      return sql`${text} like ${like(words)} escape '\\' or lower(${text}) like ${like(words.toLowerCase())} escape '\\'`
    }),
    sql` or `,
  )})`
}

async function toChats(
  { tables }: Reading,
  connectionId: ConnectionId,
  groups: readonly Group[],
): Promise<readonly ChatView[]> {
  if (groups.length === 0) return []
  const positions = groups.map(({ last }) => last)
  const rows = await entriesOf(tables, connectionId).select(INBOX_COLUMNS).where('position', 'in', positions).execute()
  const entries = new Map(rows.flatMap(readEntries).map((entry) => [entry.position, entry]))
  return groups.flatMap(({ recipient, last, count }) => {
    const entry = entries.get(last)
    if (!entry) return []
    const { type, text, media, at } = entry
    const words = text ?? media?.caption ?? media?.name ?? ''
    return [{ to: recipient, lastType: type, lastText: shorten(words), lastAt: at, count }]
  })
}

/** Cuts between characters, never within one. */
function shorten(text: string): string {
  return text.length <= TEXT_SHOWN ? text : `${[...text.slice(0, TEXT_SHOWN)].slice(0, -1).join('')}…`
}
