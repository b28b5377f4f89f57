import { sql } from 'kysely'
import { DEFAULT_LANE_POLICY, type LanePolicy } from '../../core/connection/lane-policy.ts'
import type { Instant, MessageId } from '../../core/ids.ts'
import type { MessageStory } from '../../core/ports/administration.ts'
import { Refusal } from '../../core/refusals.ts'
import { explainLane, type LaneReason } from './lane-reason.ts'
import { type MessageDetails, selectDetails } from './message-details.ts'
import { selectMessages, toMessageView } from './message-view.ts'
import { type Reader, type Store, snapshot } from './store.ts'
import { readTimeline } from './timeline.ts'

/** A message with all that is known of it, as it stood at one moment. */
export function explainMessage(store: Store, id: MessageId): Promise<MessageStory> {
  return snapshot(store, async (tables) => {
    const row = await selectDetails(tables, id)
    if (!row) throw new Refusal('message_unknown', `There is no message with the id ${id}.`)
    const now = store.now()
    const isWaiting = row.state === 'QUEUED'
    const lane = isWaiting ? await standingLane(tables, row, now) : null
    return {
      message: toMessageView(row, now),
      reasonWords: isWaiting ? (row.sequence === row.head_sequence ? (lane?.words ?? null) : null) : row.message_words,
      requestId: row.request_id,
      tokenName: row.token_name,
      position: isWaiting ? await positionOf(tables, row) : null,
      laneWait: lane,
      connectionState: row.connection_state,
      expiresAt: isWaiting ? row.accepted_at + timeToLiveMs(row.policy) : null,
      resendOf: await idOf(tables, row.resend_of),
      resentAs: await idOf(tables, row.resent_as),
      timeline: await readTimeline(tables, row),
    }
  })
}

/** Why the lane stands still, judged by its head, whichever message is asked about. */
async function standingLane(tables: Reader, row: MessageDetails, now: Instant): Promise<LaneReason | null> {
  const head =
    row.sequence === row.head_sequence
      ? row
      : await selectMessages(tables)
          .where('m.sequence', '=', row.head_sequence ?? -1)
          .executeTakeFirst()
  if (!head) return null
  const reason = explainLane(head, now)
  return reason.reason === 'due' || reason.reason === 'sending' ? null : reason
}

async function positionOf(tables: Reader, row: MessageDetails): Promise<number> {
  const { position } = await tables
    .selectFrom('message')
    .select(({ fn }) => fn.countAll<number>().as('position'))
    .where('connection_id', '=', row.connection_id)
    .where('state', '=', sql.lit('QUEUED'))
    .where('sequence', '<=', row.sequence)
    .executeTakeFirstOrThrow()
  return position
}

function timeToLiveMs(policy: string): number {
  return { ...DEFAULT_LANE_POLICY, ...(JSON.parse(policy) as Partial<LanePolicy>) }.timeToLiveMs
}

async function idOf(tables: Reader, sequence: number | null): Promise<MessageId | null> {
  if (sequence === null) return null
  const row = await tables.selectFrom('message').select('id').where('sequence', '=', sequence).executeTakeFirst()
  return row?.id ?? null
}
