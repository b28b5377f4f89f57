import type { Instant } from '../../../core/ids.ts'
import { type OwnWaitFacts, readOwnWait } from '../../../core/message/own-wait.ts'
import type { TimelineKind } from '../../../core/message/timeline.ts'
import type { TimelineEntry } from '../../../core/ports/administration.ts'
import type { AttemptFacts } from '../../../core/ports/lanes.ts'
import { acceptanceTookMs } from '../api-log/log-source.ts'
import { within } from '../engine.ts'
import type { Reader, Reading } from '../store.ts'
import type { MessageDetails } from './message-details.ts'
import { readWaits } from './read-waits.ts'

// Networks report times in whole seconds, rounded down.
const CUT_OFF_MS = 1_000

type Entry = TimelineEntry & { readonly kind: TimelineKind | (string & {}) }

/** Everything that happened to a message, by time. Most entries are derived from other rows and not stored again. */
export async function readTimeline(
  reading: Reading,
  message: MessageDetails,
  now: Instant,
): Promise<readonly TimelineEntry[]> {
  const { tables } = reading
  const kept = numberTries(await keptEntries(tables, message))
  const file = await media(tables, message, kept)
  const rows = await readAttempts(tables, message)
  const fileAt = file.find(({ kind }) => kind === 'media-fetched' || kind === 'media-failed')?.at ?? null
  const derived = [
    ...acceptance(message),
    ...(await repeats(reading, message)),
    ...file,
    ...attempts(rows, message, kept),
    ...openAttempt(message),
    ...settlement(message, kept),
    ...(await readWaits(reading, { message, attempts: rows, fileAt, droppedFor: droppedFor(kept), now })),
  ].filter((entry) => !kept.some((other) => other.kind === entry.kind && other.at === entry.at))
  return orderTimeline(derived, kept)
}

const LEFT_LANE: ReadonlySet<string> = new Set<TimelineKind>(['settled', 'cancelled', 'connection-removed'])

function droppedFor(kept: readonly Entry[]): OwnWaitFacts | null {
  return readOwnWait(kept.findLast(({ kind }) => LEFT_LANE.has(kind))?.facts ?? {})
}

async function keptEntries(tables: Reader, message: MessageDetails): Promise<readonly Entry[]> {
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

function acceptance(message: MessageDetails): readonly Entry[] {
  // A copy made by a person came with no request, so it took no time.
  if (message.request_id === null) return [entry(message.accepted_at, 'accepted', {})]
  const { request_id: requestId, token_name: token, remote_address: from, user_agent: userAgent } = message
  const tookMs = acceptanceTookMs(message)
  return [entry(message.accepted_at, 'accepted', { requestId, token, from, userAgent, tookMs })]
}

async function repeats({ tables, engine }: Reading, message: MessageDetails): Promise<readonly Entry[]> {
  const rows = await tables
    .selectFrom('request')
    .select(['received_at', 'request_id'])
    .where('account_id', '=', message.account_id)
    .where('message_id', '=', message.id)
    .where(within('sequence', engine.repeatsOf(message.sequence)))
    .orderBy('sequence')
    .execute()
  return rows.map((row) => entry(row.received_at, 'repeated', { requestId: row.request_id }))
}

/** The tries of a download. They begin again when the file is lost. */
function numberTries(kept: readonly Entry[]): readonly Entry[] {
  let tries = 0
  return kept.map((entry) => {
    if (entry.kind === 'media-lost' || entry.kind === 'media-elsewhere') tries = 0
    if (entry.kind !== 'media-retry') return entry
    tries += 1
    return { ...entry, facts: { ...entry.facts, tries } }
  })
}

async function media(tables: Reader, message: MessageDetails, kept: readonly Entry[]): Promise<readonly Entry[]> {
  const row = await tables
    .selectFrom('media')
    .select(['state', 'code', 'words', 'size_bytes', 'sha256', 'mime', 'took_ms', 'ended_at'])
    .where('message_sequence', '=', message.sequence)
    .executeTakeFirst()
  if (!row || row.ended_at === null || row.state === 'pending') return []
  const failed = kept.findLast(({ kind }) => kind.startsWith('media-'))?.facts['tries']
  const tries = 1 + Number(failed ?? 0)
  if (row.state === 'failed')
    return [{ ...entry(row.ended_at, 'media-failed', { tries }), code: row.code, words: row.words }]
  // Forgotten before it had been fetched.
  if (row.sha256 === null) return []
  const facts = {
    sizeBytes: row.size_bytes,
    mime: row.mime,
    sha256: row.sha256,
    tookMs: row.took_ms,
    tries,
    captionDropped: (await hasUnusedCaption(tables, message)) ? 'yes' : null,
  }
  return [entry(row.ended_at, 'media-fetched', facts)]
}

/** An audio message has no caption: the one of the request is left out. */
async function hasUnusedCaption(tables: Reader, message: MessageDetails): Promise<boolean> {
  if (message.type !== 'audio' || message.body_deleted_at !== null) return false
  const row = await tables
    .selectFrom('message')
    .select('body')
    .where('account_id', '=', message.account_id)
    .where('sequence', '=', message.sequence)
    .executeTakeFirst()
  return row !== undefined && captionOf(row.body) !== ''
}

function captionOf(body: string): string {
  try {
    const { caption } = JSON.parse(body) as { readonly caption?: unknown }
    return typeof caption === 'string' ? caption : ''
  } catch {
    return ''
  }
}

function readAttempts(tables: Reader, message: MessageDetails) {
  return tables
    .selectFrom('attempt')
    .selectAll()
    .where('message_sequence', '=', message.sequence)
    .orderBy('number')
    .execute()
}

type AttemptRow = Awaited<ReturnType<typeof readAttempts>>[number]

function attempts(rows: readonly AttemptRow[], message: MessageDetails, kept: readonly Entry[]): readonly Entry[] {
  const last = rows.at(-1)
  return rows.flatMap((row) => {
    const networkId = row === last && row.outcome === 'accepted' ? { networkId: message.network_id } : {}
    // An attempt that was cut off when its process stopped was ended later, by another process.
    const isCutOff = kept.some(({ kind, facts }) => kind === 'recovered' && facts['attempt'] === row.number)
    const facts = { attempt: row.number, tookMs: isCutOff ? null : row.ended_at - row.started_at, ...networkId }
    const { template = null, uploadedAs = null } = JSON.parse(row.facts ?? '{}') as AttemptFacts
    const begun = entry(row.started_at, 'attempt-begun', { attempt: row.number, template, uploadedAs })
    // The stored entry reports the broken attempt, so only the end of the wait for evidence is added.
    const isReported = kept.some((other) => other.kind === 'attempt-unknown' && other.facts['attempt'] === row.number)
    if (isReported && row.outcome === 'unknown') return [begun, entry(row.ended_at, 'evidence', facts)]
    return [begun, { ...entry(row.ended_at, `attempt-${row.outcome}`, facts), code: row.code, words: row.words }]
  })
}

function openAttempt(message: MessageDetails): readonly Entry[] {
  if (message.open_number === null || message.open_started_at === null) return []
  return [entry(message.open_started_at, 'attempt-begun', { attempt: message.open_number })]
}

function settlement(message: MessageDetails, kept: readonly Entry[]): readonly Entry[] {
  if (message.settled_at === null) return []
  if (message.state === 'CANCELLED') {
    if (kept.some(({ kind }) => kind === 'cancelled')) return []
    return [{ ...entry(message.settled_at, 'connection-removed', { state: 'CANCELLED' }), code: message.reason }]
  }
  const state = stateWhenSettled(message, kept)
  const settled = entry(message.settled_at, 'settled', { state })
  if (state === message.state) return [{ ...settled, code: message.reason, words: message.message_words }]
  const was = kept.find(({ kind }) => kind === 'resolved')?.facts['was']
  return [typeof was === 'string' ? { ...settled, code: was } : settled]
}

/** The state in which it left its lane: receipts and people may have moved it on since. */
function stateWhenSettled(message: MessageDetails, kept: readonly Entry[]): string {
  const { state, published_at: publishedAt, settled_at: settledAt } = message
  // Exactly equal, because a late report may carry a time of the network's clock before the message left its lane.
  if (publishedAt !== null && publishedAt === settledAt) return 'PUBLISHED'
  // Published after it left the lane: evidence contradicted a failure, or evidence or a person resolved an unknown result.
  if (publishedAt !== null) return kept.some(({ kind }) => kind === 'receipt-contrary') ? 'FAILED' : 'UNCONFIRMED'
  return state === 'FAILED' && kept.some(({ kind }) => kind === 'receipt-failed') ? 'UNCONFIRMED' : state
}

function entry(at: number, kind: TimelineKind, facts: TimelineEntry['facts']): Entry {
  return { at, kind, code: null, words: null, facts }
}

/** The order of entries of the same time. */
const RANKS: Readonly<Record<string, number>> = {
  accepted: 0,
  // The attempt that ended the wait comes after it.
  waiting: 0.5,
  settled: 2,
  'receipt-sent': 3,
  'receipt-unreadable': 3.5,
  'receipt-delivered': 4,
  'receipt-read': 5,
  'receipt-contrary': 6,
  'receipt-failed': 6,
}
const USUAL_RANK = 1

interface Placed {
  readonly entry: TimelineEntry
  readonly sortsAt: Instant
}

/**
 * Sorts by time. `derived` entries follow from the rows of the message; `kept` entries were stored as they became known.
 *
 * A report of the network carries the network's time, which is of another clock and rounded down to the second. So it is
 * placed after the entries it depends on and before the entries stored after it. It shows the time of that place, and its
 * facts hold the network's own time. No entry comes before the acceptance, even if a clock was set back.
 */
export function orderTimeline(
  derived: readonly TimelineEntry[],
  kept: readonly TimelineEntry[],
): readonly TimelineEntry[] {
  const ours = [...derived, ...kept].filter((entry) => !isReport(entry))
  const acceptedAt = ours.find(({ kind }) => kind === 'accepted')?.at ?? Number.NEGATIVE_INFINITY
  const asItStands = (entry: TimelineEntry): Placed => ({ entry, sortsAt: Math.max(entry.at, acceptedAt) })
  const placed = [
    ...derived.map(asItStands),
    ...kept.map((entry, place) =>
      isReport(entry) ? placeReport(entry, ours, kept.slice(place + 1)) : asItStands(entry),
    ),
  ]
  return placed
    .sort((a, b) => a.sortsAt - b.sortsAt || rank(a.entry) - rank(b.entry) || a.entry.at - b.entry.at)
    .map(({ entry }) => entry)
}

function placeReport(report: TimelineEntry, ours: readonly TimelineEntry[], later: readonly TimelineEntry[]): Placed {
  const earliest = dependsOn(report, ours)
  // 1 ms earlier, because reports come last among entries of the same time.
  const latest = (later.find((entry) => !isReport(entry))?.at ?? Number.POSITIVE_INFINITY) - 1
  const sortsAt = Math.max(earliest, Math.min(report.at, latest))
  const facts = { ...report.facts, networkTime: report.at }
  const entry = sortsAt === report.at ? report : { ...report, at: sortsAt, facts }
  return { entry, sortsAt }
}

/** The time of the last entry that came before the report, or may have come before it within its second. */
function dependsOn(report: TimelineEntry, ours: readonly TimelineEntry[]): Instant {
  const taken =
    ours.find(({ kind }) => kind === 'attempt-accepted') ?? ours.find(({ kind }) => kind === 'attempt-begun')
  const isTaken = taken?.kind === 'attempt-accepted'
  return ours.reduce((latest, entry) => {
    const isBefore =
      entry === taken || entry.kind === 'accepted' || (entry.kind === 'settled' && endsBefore(entry, isTaken))
    const isOfItsSecond =
      ENDS.has(entry.kind) && isCutOff(report.at) && Math.floor(entry.at / CUT_OFF_MS) * CUT_OFF_MS === report.at
    return isBefore || isOfItsSecond ? Math.max(latest, entry.at) : latest
  }, Number.NEGATIVE_INFINITY)
}

const ENDS: ReadonlySet<string> = new Set(['attempt-accepted', 'attempt-unknown', 'attempt-rejected', 'settled'])

/** A report during the wait for evidence would have ended the message in another state than UNCONFIRMED. */
function endsBefore({ facts: { state } }: TimelineEntry, isTaken: boolean): boolean {
  return state === 'UNCONFIRMED' || (state === 'PUBLISHED' && isTaken)
}

function isReport({ kind }: TimelineEntry): boolean {
  return kind.startsWith('receipt-')
}

function isCutOff(at: Instant): boolean {
  return at % CUT_OFF_MS === 0
}

function rank({ kind }: TimelineEntry): number {
  return RANKS[kind] ?? USUAL_RANK
}
