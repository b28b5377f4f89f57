import { commandLine } from '../../../core/command-line.ts'
import { parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import type { Instant, MessageId } from '../../../core/ids.ts'
import type { MessageState, RetryState } from '../../../core/message/message.ts'
import type { MessageTimeline, TimelineEntry } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { AlarmFacts } from '../../../core/watchdog/alarm.ts'
import type { AlarmKind } from '../../../core/watchdog/alarm-kinds.ts'
import { alarmText } from '../../../core/watchdog/alarm-text.ts'
import { findHeads, selectUnfinished } from '../lanes/lane-order.ts'
import { explainInLane, explainSelf, laneContextOf } from '../lanes/lane-reason.ts'
import { findBehind } from '../lanes/list-waiting.ts'
import { readPause } from '../lanes/standstills.ts'
import { type Reader, type Reading, type Store, snapshot } from '../store.ts'
import { type MessageDetails, selectDetails } from './message-details.ts'
import { type MessageRow, selectMessages, toMessageView } from './message-view.ts'
import { findSuccessor } from './send-again.ts'
import { readTimeline } from './timeline.ts'

/** A message with all its facts, as of one moment. */
export async function explainMessage(store: Store, id: MessageId): Promise<MessageTimeline> {
  const context = await laneContextOf(store)
  return snapshot(store, async (tables) => {
    const sequence = await store.engine.locate(tables, id)
    const row = sequence === null ? null : await selectDetails(tables, sequence, context.now)
    if (!row)
      throw new Refusal(
        'message_unknown',
        `There is no message with the id ${id}. One whose time was over has been deleted (${commandLine`retention`}).`,
      )
    const isWaiting = row.state === 'QUEUED'
    const head = isWaiting ? await findHead({ tables, engine: store.engine }, row, context.now) : null
    const isHead = head?.sequence === row.sequence
    const repeated = await findRepeated(tables, row.resend_of)
    const timeline = await readTimeline({ tables, engine: store.engine }, row, context.now)
    const resent = await findResent(tables, row.resent_as, timeline)
    const own = head && explainSelf(row, { ...context, isHead })
    const message = toMessageView(row, isHead, context)
    return {
      message,
      asOf: context.now,
      channel: row.channel,
      policy: parseLanePolicy(row.policy),
      tries: isWaiting && row.retry !== null ? (JSON.parse(row.retry) as RetryState).tries : null,
      paused: row.connection_state === 'paused' ? await readPause(tables, row.connection_id) : null,
      removed: row.connection_state === 'removed' ? await findRemoval(tables, row) : null,
      block: NOT_PROVEN_SENT.has(row.state) ? await readBlock(tables, row) : null,
      reasonWords: isWaiting ? (own?.words ?? null) : row.message_words,
      requestId: row.request_id,
      tokenName: row.token_name,
      position: isWaiting ? await positionOf(tables, row) : null,
      waitsFor: message.reason === 'behind_others' ? await findEarlier(tables, row, context.now) : null,
      laneWait: head && explainInLane(own, head, context),
      reportsMissing: row.state === 'PUBLISHED' ? await readReportsMissing(tables, row, context.now) : null,
      connectionState: row.connection_state,
      expiresAt: isWaiting ? row.accepted_at + parseLanePolicy(row.policy).timeToLiveMs : null,
      bodyDeletedAt: row.body_deleted_at,
      resendOf: repeated?.id ?? null,
      repeatsWhatLeft: HAS_LEFT.has(repeated?.state ?? ''),
      resentAs: resent?.id ?? null,
      resent,
      hasSuccessor: row.connection_state === 'removed' && (await findSuccessor(tables, row)) !== null,
      timeline,
    }
  })
}

/** The head of the lane explains why the lane waits, for every message in it. */
async function findHead(reading: Reading, row: MessageDetails, now: Instant): Promise<MessageRow | null> {
  const sequence = (await findHeads(reading, [row.connection_id])).get(row.connection_id)
  if (sequence === row.sequence) return row
  return (
    (await selectMessages(reading.tables, now)
      .where('m.sequence', '=', sequence ?? -1)
      .executeTakeFirst()) ?? null
  )
}

async function positionOf(tables: Reader, row: MessageDetails): Promise<number> {
  const { position } = await selectUnfinished(tables, row.connection_id)
    .select(({ fn }) => fn.countAll<number>().as('position'))
    .where('e.sequence', '<=', row.sequence)
    .executeTakeFirstOrThrow()
  return position
}

async function findEarlier(tables: Reader, row: MessageDetails, now: Instant): Promise<MessageTimeline['waitsFor']> {
  return (await findBehind(tables, row.connection_id, now))(row)
}

const NOT_PROVEN_SENT: ReadonlySet<string> = new Set<MessageState>(['FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED'])
// The act is among the newest of an account, unless it was long ago: then no person is named.
const ACTS_SEARCHED = 1_000

async function findRemoval(tables: Reader, row: MessageDetails): Promise<MessageTimeline['removed']> {
  const newest = tables
    .selectFrom('audit')
    .select(['at', 'actor as by', 'action', 'object'])
    .where('account_id', '=', row.account_id)
    .orderBy('sequence', 'desc')
    .limit(ACTS_SEARCHED)
    .as('newest')
  const act = await tables
    .selectFrom(newest)
    .select(['at', 'by'])
    .where('action', '=', 'connection.remove')
    .where('object', '=', row.connection_id)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return act ? { ...act } : null
}

async function readBlock(tables: Reader, row: MessageDetails): Promise<MessageTimeline['block']> {
  const block = await tables
    .selectFrom('blocked_recipient')
    .select(['since as at', 'blocked_by as by', 'reason as why'])
    .where('account_id', '=', row.account_id)
    .where('recipient', '=', row.recipient)
    .executeTakeFirst()
  return block ? { ...block } : null
}

/** Null for a message that the network took before its last report: it has reported all that it knew of those. */
async function readReportsMissing(
  tables: Reader,
  row: MessageDetails,
  now: Instant,
): Promise<MessageTimeline['reportsMissing']> {
  const kind = 'reports_missing' satisfies AlarmKind
  const alarm = await tables
    .selectFrom('alarm')
    .select(['since', 'facts'])
    .where('kind', '=', kind)
    .where('object', '=', row.connection_id)
    .where('cleared_at', 'is', null)
    .executeTakeFirst()
  if (!alarm) return null
  const facts = JSON.parse(alarm.facts) as AlarmFacts
  if (row.published_at === null || row.published_at < Number(facts['oldestAt'])) return null
  return alarmText({ kind, since: alarm.since, facts }, now)
}

const HAS_LEFT: ReadonlySet<string> = new Set<MessageState>(['PUBLISHED', 'DELIVERED', 'READ'])

async function findRepeated(tables: Reader, sequence: number | null) {
  if (sequence === null) return null
  const rows = tables.selectFrom('message').select(['id', 'state']).where('sequence', '=', sequence)
  return (await rows.executeTakeFirst()) ?? null
}

async function findResent(
  tables: Reader,
  sequence: number | null,
  timeline: readonly TimelineEntry[],
): Promise<MessageTimeline['resent']> {
  if (sequence === null) return null
  const rows = tables.selectFrom('message').select(['id', 'state', 'reason', 'words']).where('sequence', '=', sequence)
  const row = await rows.executeTakeFirst()
  const by = timeline.find(({ kind, facts }) => kind === 'sent-again' && 'newMessage' in facts)?.facts['by']
  return row ? { ...row, by: typeof by === 'string' ? by : null } : null
}
