import type { Instant } from '../../../core/ids.ts'
import type { TimelineEntry } from '../../../core/ports/administration.ts'

// Networks report times in whole seconds, rounded down.
const CUT_OFF_MS = 1_000

/** The order of entries of the same time. */
const RANKS: Readonly<Record<string, number>> = {
  accepted: 0,
  settled: 2,
  'receipt-sent': 3,
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
