import type { TimelineKind } from '../../../core/message/timeline.ts'
import type { TimelineEntry } from '../../../core/ports/administration.ts'
import { acceptanceTookMs } from '../api-log/request-duration.ts'
import type { Reader, Reading } from '../store.ts'
import { within } from '../within.ts'
import type { MessageDetails } from './message-details.ts'
import { orderTimeline } from './order-timeline.ts'

type Moment = TimelineEntry & { readonly kind: TimelineKind | (string & {}) }

/** Everything that happened to a message, by time. Most entries are derived from other rows and not stored again. */
export async function readTimeline(reading: Reading, message: MessageDetails): Promise<readonly TimelineEntry[]> {
  const { tables } = reading
  const kept = await keptEntries(tables, message)
  const derived = [
    ...acceptance(message),
    ...(await repeats(reading, message)),
    ...(await media(tables, message)),
    ...(await attempts(tables, message, kept)),
    ...openAttempt(message),
    ...settlement(message, kept),
  ].filter((moment) => !kept.some((other) => other.kind === moment.kind && other.at === moment.at))
  return orderTimeline(derived, kept)
}

async function keptEntries(tables: Reader, message: MessageDetails): Promise<readonly Moment[]> {
  const rows = await tables
    .selectFrom('timeline')
    .select(['at', 'kind', 'code', 'words', 'facts'])
    .where('message_sequence', '=', message.sequence)
    .orderBy('position')
    .execute()
  return rows.map(({ facts, ...row }) => ({
    ...row,
    facts: facts === null ? {} : (JSON.parse(facts) as TimelineEntry['facts']),
  }))
}

function acceptance(message: MessageDetails): readonly Moment[] {
  // A copy made by a person came with no request, so it took no time.
  if (message.request_id === null) return [moment(message.accepted_at, 'accepted', {})]
  const { request_id: requestId, token_name: token, remote_address: from, user_agent: userAgent } = message
  const tookMs = acceptanceTookMs(message)
  return [moment(message.accepted_at, 'accepted', { requestId, token, from, userAgent, tookMs })]
}

async function repeats({ tables, engine }: Reading, message: MessageDetails): Promise<readonly Moment[]> {
  const rows = await tables
    .selectFrom('request')
    .select(['received_at', 'request_id'])
    .where('account_id', '=', message.account_id)
    .where('message_id', '=', message.id)
    .where(within('sequence', engine.repeatsOf(message.sequence)))
    .orderBy('sequence')
    .execute()
  return rows.map((row) => moment(row.received_at, 'repeated', { requestId: row.request_id }))
}

async function media(tables: Reader, message: MessageDetails): Promise<readonly Moment[]> {
  const row = await tables
    .selectFrom('media')
    .select(['state', 'code', 'words', 'size_bytes', 'sha256', 'mime', 'took_ms', 'ended_at'])
    .where('message_sequence', '=', message.sequence)
    .executeTakeFirst()
  if (!row || row.ended_at === null || row.state === 'pending') return []
  if (row.state === 'failed') return [{ ...moment(row.ended_at, 'media-failed', {}), code: row.code, words: row.words }]
  // Forgotten before it had been fetched.
  if (row.sha256 === null) return []
  const facts = { sizeBytes: row.size_bytes, mime: row.mime, sha256: row.sha256, tookMs: row.took_ms }
  return [moment(row.ended_at, 'media-fetched', facts)]
}

async function attempts(tables: Reader, message: MessageDetails, kept: readonly Moment[]): Promise<readonly Moment[]> {
  const rows = await tables
    .selectFrom('attempt')
    .selectAll()
    .where('message_sequence', '=', message.sequence)
    .orderBy('number')
    .execute()
  const last = rows.at(-1)
  return rows.flatMap((row) => {
    const networkId = row === last && row.outcome === 'accepted' ? { networkId: message.network_id } : {}
    const facts = { attempt: row.number, tookMs: row.ended_at - row.started_at, ...networkId }
    const begun = moment(row.started_at, 'attempt-begun', { attempt: row.number })
    // The stored entry reports the broken attempt, so only the end of the wait for evidence is added.
    const isReported = kept.some((other) => other.kind === 'attempt-unknown' && other.facts['attempt'] === row.number)
    if (isReported && row.outcome === 'unknown') return [begun, moment(row.ended_at, 'evidence', facts)]
    return [begun, { ...moment(row.ended_at, `attempt-${row.outcome}`, facts), code: row.code, words: row.words }]
  })
}

function openAttempt(message: MessageDetails): readonly Moment[] {
  if (message.open_number === null || message.open_started_at === null) return []
  return [moment(message.open_started_at, 'attempt-begun', { attempt: message.open_number })]
}

function settlement(message: MessageDetails, kept: readonly Moment[]): readonly Moment[] {
  if (message.settled_at === null) return []
  if (message.state === 'CANCELLED') {
    if (kept.some(({ kind }) => kind === 'cancelled')) return []
    return [{ ...moment(message.settled_at, 'connection-removed', { state: 'CANCELLED' }), code: message.reason }]
  }
  const state = stateWhenSettled(message, kept)
  const settled = moment(message.settled_at, 'settled', { state })
  if (state === message.state) return [{ ...settled, code: message.reason, words: message.message_words }]
  const was = kept.find(({ kind }) => kind === 'resolved')?.facts['was']
  return [typeof was === 'string' ? { ...settled, code: was } : settled]
}

/** The state in which it left its lane: receipts and people may have moved it on since. */
function stateWhenSettled(message: MessageDetails, kept: readonly Moment[]): string {
  const { state, published_at: publishedAt, settled_at: settledAt } = message
  // Exactly equal, because a late report may carry a time of the network's clock before the message left its lane.
  if (publishedAt !== null && publishedAt === settledAt) return 'PUBLISHED'
  // Published after it left the lane: evidence contradicted a failure, or evidence or a person resolved an unknown result.
  if (publishedAt !== null) return kept.some(({ kind }) => kind === 'receipt-contrary') ? 'FAILED' : 'UNCONFIRMED'
  return state === 'FAILED' && kept.some(({ kind }) => kind === 'receipt-failed') ? 'UNCONFIRMED' : state
}

function moment(at: number, kind: TimelineKind, facts: TimelineEntry['facts']): Moment {
  return { at, kind, code: null, words: null, facts }
}
