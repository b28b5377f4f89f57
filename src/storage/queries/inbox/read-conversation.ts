import type { ConnectionId } from '../../../core/ids.ts'
import type { ThreadPage, WantedPage } from '../../../core/ports/console/inbox.ts'
import { type Reading, type Store, snapshot } from '../store.ts'
import { type Entry, entriesOf, type InboxRow, readEntry } from './inbox-entries.ts'
import { withStatuses } from './message-status.ts'

// The search reads the deliveries of the whole connection, so many rows at a time: first the few that hold most answers,
// at last a range of some 15 ms. For a rare recipient the caller continues where this ended.
const RANGES = [500, 1_500, 5_000]

/** Positions begin at 1. */
const BEGINNING = 0

interface Found {
  readonly entries: readonly Entry[]
  readonly next: number | null
}

export function readConversation(
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

/** The newest first. */
async function findEntries(
  reading: Reading,
  of: { readonly connectionId: ConnectionId; readonly to: string },
  page: WantedPage,
): Promise<Found> {
  const found: InboxRow[] = []
  let before = page.before ?? Number.MAX_SAFE_INTEGER
  for (const length of RANGES) {
    const from = await startOf(reading, of.connectionId, { before, length })
    found.push(...(await readRange(reading, of, { from, before, limit: page.limit + 1 - found.length })))
    if (found.length > page.limit) {
      const rows = found.slice(0, page.limit)
      return { entries: toEntries(rows), next: rows.at(-1)?.position ?? null }
    }
    if (from === BEGINNING) return { entries: toEntries(found), next: null }
    before = from
  }
  return { entries: toEntries(found), next: before }
}

function toEntries(rows: readonly InboxRow[]): readonly Entry[] {
  return rows.flatMap((row) => readEntry(row) ?? [])
}

/** The position with so many deliveries from it on. Read in the index alone. */
async function startOf(
  { tables }: Reading,
  connectionId: ConnectionId,
  { before, length }: { readonly before: number; readonly length: number },
): Promise<number> {
  const row = await entriesOf(tables, connectionId)
    .select('position')
    .where('position', '<', before)
    .orderBy('position', 'desc')
    .offset(length - 1)
    .limit(1)
    .executeTakeFirst()
  return row?.position ?? BEGINNING
}

function readRange(
  { tables, engine }: Reading,
  { connectionId, to }: { readonly connectionId: ConnectionId; readonly to: string },
  { from, before, limit }: { readonly from: number; readonly before: number; readonly limit: number },
): Promise<readonly InboxRow[]> {
  return entriesOf(tables, connectionId)
    .select(['position', 'key', 'value', 'at'])
    .where('position', '>=', from)
    .where('position', '<', before)
    .where(engine.jsonText('value', 'to'), '=', to)
    .orderBy('position', 'desc')
    .limit(limit)
    .execute()
}
