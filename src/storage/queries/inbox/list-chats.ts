import type { ConnectionId } from '../../../core/ids.ts'
import type { ChatPage, ChatView, WantedPage } from '../../../core/ports/console/inbox.ts'
import { type Reading, type Store, snapshot } from '../store.ts'
import { entriesOf, type InboxRow, readEntry } from './inbox-entries.ts'

// Reading so many of the newest deliveries takes some 10 ms. Reading more would need a second index, which every delivery
// would write; an older chat is found by its number.
export const CHATS_READ = 5_000
const TEXT_SHOWN = 200

interface Group {
  readonly recipient: string
  readonly last: number
  readonly count: number
}

export function listChats(store: Store, connectionId: ConnectionId, page: WantedPage): Promise<ChatPage> {
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
  { before, limit }: WantedPage,
): Promise<readonly Group[]> {
  const newest = entriesOf(tables, connectionId)
    .select(['position', engine.jsonText('value', 'to').as('recipient')])
    .orderBy('position', 'desc')
    .limit(CHATS_READ)
  let groups = tables
    .selectFrom(newest.as('n'))
    .select(({ fn }) => ['n.recipient', fn.max<number>('n.position').as('last'), fn.countAll<number>().as('count')])
    .where('n.recipient', 'is not', null)
    .groupBy('n.recipient')
    .orderBy('last', 'desc')
    .limit(limit + 1)
  if (before !== null) groups = groups.having(({ fn }) => fn.max('n.position'), '<', before)
  const rows = await groups.execute()
  return rows.map((row) => ({ recipient: row.recipient ?? '', last: Number(row.last), count: Number(row.count) }))
}

async function toChats(
  { tables }: Reading,
  connectionId: ConnectionId,
  groups: readonly Group[],
): Promise<readonly ChatView[]> {
  if (groups.length === 0) return []
  const positions = groups.map(({ last }) => last)
  const rows = await entriesOf(tables, connectionId)
    .select(['position', 'key', 'value', 'at'])
    .where('position', 'in', positions)
    .execute()
  const byPosition = new Map(rows.map((row) => [row.position, row]))
  return groups.flatMap((group) => {
    const row = byPosition.get(group.last)
    const chat = row && toChat(row, group)
    return chat ? [chat] : []
  })
}

function toChat(row: InboxRow, { recipient, count }: Group): ChatView | null {
  const entry = readEntry(row)
  if (!entry) return null
  const { type, text, media, at } = entry
  const words = text ?? media?.caption ?? media?.name ?? ''
  return { to: recipient, lastType: type, lastText: shorten(words), lastAt: at, count }
}

/** By whole characters: half of one is no text. */
function shorten(text: string): string {
  return text.length <= TEXT_SHOWN ? text : `${[...text.slice(0, TEXT_SHOWN)].slice(0, -1).join('')}…`
}
