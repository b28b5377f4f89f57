import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { EarlierMessage } from '../../../core/message/earlier-message.ts'
import type { MessageType, Sequence } from '../../../core/message/message.ts'
import type { LanePage, OfConnection, OpenMessageView, WaitingMessageView } from '../../../core/ports/console/lanes.ts'
import { completeBodies, isPreviewFull, previewOf, startOf } from '../api-log/request-body.ts'
import { type Reader, type Store, snapshot } from '../store.ts'
import { selectUnfinished } from './lane-order.ts'
import { explainOwnWait, type LaneReason, laneContextOf, MEDIA_FACTS, NO_MEDIA } from './lane-reason.ts'
import { livingConnection } from './read-lanes.ts'

const PAGE = 20
// Deferred messages stand at the front of their lane. Further back, they are listed in their place.
const MOST_SCANNED = 500
const MOST_DEFERRED = 50

/** Where a page begins: behind this message, which had this place when it was read. */
interface Place {
  readonly sequence: Sequence
  readonly position: number
}

const FRONT: Place = { sequence: 0, position: 0 }

/** A message of the lane with what the message itself waits for. */
interface Waiting extends Place {
  readonly id: MessageId
  readonly type: MessageType
  readonly recipient: string
  readonly wait: LaneReason | null
}

/** A deferred message, or one that waits behind it. */
interface Deferred extends Waiting {
  /** The earlier one to the same recipient; null: it waits for something of its own. */
  readonly behind: EarlierMessage | null
}

/** One page of a lane: first up to fifty deferred messages, each with those behind it, then the others in order. */
export async function listWaiting(store: Store, of: OfConnection, after: string | null): Promise<LanePage> {
  const { now } = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    await livingConnection(tables, of)
    const open = await readOpen(tables, of)
    const front = await readWaiting(tables, of.id, { from: FRONT, count: MOST_SCANNED, now })
    const behindOf = findBehindIn(front, open?.sequence)
    const deferred = defer(front, { open: open?.sequence, behindOf })
    const atFront = [...deferred.values()].slice(0, MOST_DEFERRED)
    const atFrontBy = new Set(atFront.map(({ sequence }) => sequence))
    const isOther = ({ sequence }: Place) => sequence !== open?.sequence && !atFrontBy.has(sequence)
    const from = readPlace(after)
    const known = front.filter(({ sequence }) => sequence > from.sequence)
    const isEnough = front.length < MOST_SCANNED || known.filter(isOther).length > PAGE
    // One more than a page says that there is a next one, and another may be open.
    const range = { from: known.at(-1) ?? from, count: PAGE + 2, now }
    const others = [...known, ...(isEnough ? [] : await readWaiting(tables, of.id, range))].filter(isOther)
    // Those beyond the most that are shown at the front keep what they wait for.
    const page = others.slice(0, PAGE).map((one) => deferred.get(one.sequence) ?? withBehind(one, behindOf))
    const last = page.at(-1)
    return {
      open: open?.message ?? null,
      deferred: {
        count: deferred.size,
        recipients: new Set([...deferred.values()].map(({ recipient }) => recipient)).size,
        isMore: front.length === MOST_SCANNED,
        items: await readItems(tables, after === null ? atFront : []),
      },
      items: await readItems(tables, page),
      next: others.length > PAGE && last ? `${last.sequence}.${last.position}` : null,
    }
  })
}

/** As `listWaiting` shows it. */
export async function findBehind(tables: Reader, connectionId: ConnectionId, now: Instant): Promise<BehindOf> {
  const open = await readOpenSequence(tables, connectionId)
  return findBehindIn(await readWaiting(tables, connectionId, { from: FRONT, count: MOST_SCANNED, now }), open)
}

export async function findOldestWait(store: Store, of: OfConnection): Promise<LaneReason | null> {
  const { now } = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    const isOwn = tables.selectFrom('connection').select('id').where('id', '=', of.id)
    if (!(await isOwn.where('account_id', '=', of.accountId).executeTakeFirst())) return null
    const open = await readOpenSequence(tables, of.id)
    const front = await readWaiting(tables, of.id, { from: FRONT, count: MOST_SCANNED, now })
    const waits = front.flatMap(({ sequence, wait }) => (wait && sequence !== open ? [wait] : []))
    const [oldest] = waits
    const ends = waits.flatMap(({ until }) => until ?? [])
    return oldest ? { ...oldest, until: ends.length > 0 ? Math.min(...ends) : null } : null
  })
}

async function readOpenSequence(tables: Reader, connectionId: ConnectionId): Promise<Sequence | undefined> {
  const attempt = tables.selectFrom('open_attempt').select('message_sequence').where('connection_id', '=', connectionId)
  return (await attempt.executeTakeFirst())?.message_sequence
}

interface Range {
  readonly from: Place
  readonly count: number
  readonly now: Instant
}

async function readWaiting(
  tables: Reader,
  connectionId: ConnectionId,
  { from, count, now }: Range,
): Promise<readonly Waiting[]> {
  const found = await selectUnfinished(tables, connectionId)
    .select('e.sequence')
    .where('e.sequence', '>', from.sequence)
    .orderBy('e.sequence')
    .limit(count)
    .execute()
  if (found.length === 0) return []
  const sequences = found.map(({ sequence }) => sequence)
  const rows = await tables
    .selectFrom('message')
    .select(['sequence', 'id', 'type', 'recipient', 'retry'])
    .where('sequence', 'in', sequences)
    .execute()
  // Not joined: PostgreSQL would read all media for the media of so many messages.
  const media = await tables
    .selectFrom('media as x')
    .select(['x.message_sequence', ...MEDIA_FACTS])
    .where('x.message_sequence', 'in', sequences)
    .execute()
  const bySequence = new Map(rows.map((row) => [row.sequence, row]))
  const mediaOf = new Map(media.map((row) => [row.message_sequence, row]))
  return sequences.flatMap((sequence, at): Waiting[] => {
    const row = bySequence.get(sequence)
    if (!row) return []
    const { id, type, recipient } = row
    return [
      {
        sequence,
        id,
        type,
        position: from.position + at + 1,
        recipient,
        wait: explainOwnWait({ ...(mediaOf.get(sequence) ?? NO_MEDIA), ...row }, now),
      },
    ]
  })
}

/** The earlier message to the same recipient behind which a message waits, wherever it stands in its lane; null: there is none. */
export type BehindOf = (message: Pick<Waiting, 'sequence' | 'recipient'>) => EarlierMessage | null

function findBehindIn(front: readonly Waiting[], open: Sequence | undefined): BehindOf {
  const firsts = new Map<string, Waiting & { readonly wait: LaneReason }>()
  for (const { wait, ...one } of front) {
    if (wait && one.sequence !== open && !firsts.has(one.recipient)) firsts.set(one.recipient, { ...one, wait })
  }
  return ({ sequence, recipient }) => {
    const first = firsts.get(recipient)
    if (first === undefined || first.sequence >= sequence) return null
    const { id, type, wait } = first
    return { id, type, reason: wait.reason, until: wait.until }
  }
}

function withBehind(one: Waiting, behindOf: BehindOf): Deferred {
  const behind = behindOf(one)
  return { ...one, wait: behind ? null : one.wait, behind }
}

/**
 * The deferred messages by their sequences, and behind each the later ones to its recipient. Without the one that is being
 * sent.
 */
function defer(
  front: readonly Waiting[],
  { open, behindOf }: { readonly open: Sequence | undefined; readonly behindOf: BehindOf },
): ReadonlyMap<Sequence, Deferred> {
  const deferred = front
    .filter(({ sequence }) => sequence !== open)
    .map((one) => withBehind(one, behindOf))
    .filter(({ wait, behind }) => wait !== null || behind !== null)
  const byRecipient = Map.groupBy(deferred, ({ recipient }) => recipient)
  return new Map([...byRecipient.values()].flatMap((same) => same.map((one) => [one.sequence, one])))
}

async function readItems(
  tables: Reader,
  places: readonly (Waiting & Partial<Deferred>)[],
): Promise<readonly WaitingMessageView[]> {
  if (places.length === 0) return []
  const found = await tables
    .selectFrom('message as m')
    .select(['m.sequence', 'm.id', 'm.type', 'm.accepted_at as acceptedAt', 'm.attempts', startOf('m.body').as('body')])
    .where(
      'm.sequence',
      'in',
      places.map(({ sequence }) => sequence),
    )
    .execute()
  const rows = await completeBodies(tables, 'message', { rows: found, isEnough: isPreviewFull })
  const bySequence = new Map(rows.map((row) => [row.sequence, row]))
  return places.flatMap(({ sequence, position, recipient, wait, behind }) => {
    const row = bySequence.get(sequence)
    if (!row) return []
    const { sequence: _, body, ...message } = row
    return [{ ...message, to: recipient, preview: previewOf(body), position, behind: behind ?? null, wait }]
  })
}

async function readOpen(
  tables: Reader,
  { id }: OfConnection,
): Promise<{ sequence: Sequence; message: OpenMessageView } | null> {
  const row = await tables
    .selectFrom('open_attempt as o')
    .innerJoin('message as m', 'm.sequence', 'o.message_sequence')
    .where('o.connection_id', '=', id)
    .select(['m.sequence', 'm.id', 'm.recipient as to', 'm.type', 'm.accepted_at as acceptedAt', 'm.body'])
    .select(['o.number as attempt', 'o.started_at as since', 'o.evidence_until as evidenceUntil', 'o.words'])
    .executeTakeFirst()
  if (!row) return null
  const { sequence, body, ...message } = row
  return { sequence, message: { ...message, preview: previewOf(body) } }
}

function readPlace(cursor: string | null): Place {
  const [, sequence, position] = /^(\d{1,16})\.(\d{1,9})$/.exec(cursor ?? '') ?? []
  return sequence === undefined ? FRONT : { sequence: Number(sequence), position: Number(position) }
}
