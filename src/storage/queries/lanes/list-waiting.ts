import type { Sequence } from '../../../core/message/message.ts'
import type { LanePage, LaneViews, OfConnection, OpenMessageView } from '../../../core/ports/console/lanes.ts'
import { type Reader, type Store, snapshot } from '../store.ts'
import { selectUnfinished } from './lane-order.ts'
import { livingConnection } from './living-connection.ts'

const PAGE = 20

/** Where a page begins: behind this message, which stood at this place when it was read. */
interface Place {
  readonly sequence: Sequence
  readonly position: number
}

const FRONT: Place = { sequence: 0, position: 0 }

export function listWaiting(
  store: Store,
  of: OfConnection,
  after: string | null,
): ReturnType<LaneViews['listWaiting']> {
  return snapshot(store, async (tables): Promise<LanePage> => {
    await livingConnection(tables, of)
    const from = readPlace(after)
    const found = await selectUnfinished(tables, of.id)
      .select('e.sequence')
      .where('e.sequence', '>', from.sequence)
      .orderBy('e.sequence')
      .limit(PAGE + 1)
      .execute()
    const sequences = found.slice(0, PAGE).map(({ sequence }) => sequence)
    const open = await readOpen(tables, of)
    const places = sequences.map((sequence, at): Place => ({ sequence, position: from.position + at + 1 }))
    const items = await readItems(
      tables,
      places.filter(({ sequence }) => sequence !== open?.sequence),
    )
    const last = places.at(-1)
    const next = found.length > PAGE && last ? `${last.sequence}.${last.position}` : null
    return { open: open?.message ?? null, items, next }
  })
}

async function readItems(tables: Reader, places: readonly Place[]): Promise<LanePage['items']> {
  if (places.length === 0) return []
  const rows = await tables
    .selectFrom('message')
    .select(['sequence', 'id', 'recipient', 'type', 'accepted_at', 'attempts'])
    .where(
      'sequence',
      'in',
      places.map(({ sequence }) => sequence),
    )
    .orderBy('sequence')
    .execute()
  const positions = new Map(places.map(({ sequence, position }) => [sequence, position]))
  return rows.map((row) => ({
    id: row.id,
    to: row.recipient,
    type: row.type,
    acceptedAt: row.accepted_at,
    attempts: row.attempts,
    position: positions.get(row.sequence) ?? 0,
  }))
}

async function readOpen(
  tables: Reader,
  { id }: OfConnection,
): Promise<{ sequence: Sequence; message: OpenMessageView } | null> {
  const row = await tables
    .selectFrom('open_attempt as o')
    .innerJoin('message as m', 'm.sequence', 'o.message_sequence')
    .where('o.connection_id', '=', id)
    .select(['m.sequence', 'm.id', 'm.recipient', 'm.type', 'm.accepted_at', 'o.number', 'o.started_at'])
    .select(['o.evidence_until', 'o.words'])
    .executeTakeFirst()
  if (!row) return null
  const message = {
    id: row.id,
    to: row.recipient,
    type: row.type,
    acceptedAt: row.accepted_at,
    attempt: row.number,
    since: row.started_at,
    evidenceUntil: row.evidence_until,
    words: row.words,
  }
  return { sequence: row.sequence, message }
}

function readPlace(cursor: string | null): Place {
  const [, sequence, position] = /^(\d{1,16})\.(\d{1,9})$/.exec(cursor ?? '') ?? []
  return sequence === undefined ? FRONT : { sequence: Number(sequence), position: Number(position) }
}
