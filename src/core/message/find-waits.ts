import type { Instant } from '../ids.ts'
import type { TimelineEntry } from '../ports/administration.ts'
import type { ReasonCode } from '../reasons.ts'
import type { OwnWaitFacts } from './own-wait.ts'

/** A time in which a lane, or all lanes, could send nothing. */
export interface Standstill {
  /** A code of core/reasons.ts. */
  readonly reason: string
  readonly since: Instant
  /** Null: it is not over. */
  readonly until: Instant | null
  readonly words: string | null
  /** As in the audit log. Null: it began or ended by itself. */
  readonly begunBy: string | null
  readonly endedBy: string | null
}

interface PastAttempt {
  readonly startedAt: Instant
  readonly endedAt: Instant
  /** What the message itself waited for before this attempt. */
  readonly own: OwnWaitFacts | null
}

/** The messages of its lane that came before it and were not finished when it was accepted. */
export interface Earlier {
  readonly count: number
  /** True when there were more than were counted. */
  readonly isMore: boolean
  /** How long the last of them was open before it was finished. */
  readonly lastOpenMs: number
}

export interface WaitFacts {
  readonly acceptedAt: Instant
  readonly attempts: readonly PastAttempt[]
  /** When it left its lane without a further attempt; null: it has not, or an attempt ended it. */
  readonly droppedAt: Instant | null
  /** What the message itself waited for until then. */
  readonly droppedFor: OwnWaitFacts | null
  /** When its file was there; null: it has none, or it never was. */
  readonly fileAt: Instant | null
  readonly standstills: readonly Standstill[]
  readonly earlier: Earlier | null
}

type Past = Omit<WaitFacts, 'fileAt' | 'standstills' | 'earlier'>

interface Period {
  readonly from: Instant
  readonly to: Instant
}

interface Cause extends Period {
  readonly code: string
  readonly words: string | null
  readonly facts: TimelineEntry['facts']
}

/** Shorter waits are not shown. */
const SHOWN_FROM_MS = 1_000
/** The same for a wait without a known cause. */
const UNEXPLAINED_FROM_MS = 10_000

/** The times in which a message waited: before its first attempt, and between two. Short ones are left out. */
export function gapsOf({ acceptedAt, attempts, droppedAt, droppedFor }: Past) {
  const dropped = droppedAt === null ? [] : [{ startedAt: droppedAt, own: droppedFor }]
  const ends = [acceptedAt, ...attempts.map(({ endedAt }) => endedAt)]
  return [...attempts, ...dropped]
    .map(({ startedAt: to, own }, at) => ({ from: ends[at] ?? to, to, isFirst: at === 0, own }))
    .filter(({ from, to }) => to - from >= SHOWN_FROM_MS)
}

type Gap = ReturnType<typeof gapsOf>[number]

/** What a message waited for, by stored facts. One entry for each cause of each wait, at the time at which it ended. Pure. */
export function findWaits(facts: WaitFacts): readonly TimelineEntry[] {
  return gapsOf(facts).flatMap((gap) => {
    const ofOthers = [...causesOf(facts.standstills, gap), ...fileCause(facts.fileAt, gap)]
    const own = ownCause(gap)
    const known = coveredMs([...ofOthers, ...own])
    const restMs = gap.to - gap.from - known
    return [
      ...sumByCode(ofOthers, facts.earlier),
      ...rest(facts, gap, restMs),
      // Not while the lane stood still, because that explains more.
      ...own.flatMap(({ to, code }) => waitedFor(to, code, { waitedMs: known - coveredMs(ofOthers) })),
    ]
  })
}

/** The times in which no process ran. They have entries of their own, also during an attempt. */
export function findStops(standstills: readonly Standstill[], { from, to }: Period): readonly TimelineEntry[] {
  return standstills
    .filter(({ reason }) => reason === STOPPED)
    .filter(({ since, until }) => since < to && (until ?? to) > from)
    .map(({ since, until, words }) => ({
      at: Math.max(since, from),
      kind: 'service-stopped',
      code: null,
      words: null,
      facts: { how: words, lastedMs: until === null ? null : until - since, since, until },
    }))
}

const STOPPED: ReasonCode = 'service_stopped'

function causesOf(standstills: readonly Standstill[], gap: Period): readonly Cause[] {
  return standstills.flatMap(({ reason: code, since, until, words, begunBy, endedBy }) => {
    const period = { from: Math.max(since, gap.from), to: Math.min(until ?? gap.to, gap.to) }
    return period.to > period.from ? [{ ...period, code, words, facts: { begunBy, endedBy } }] : []
  })
}

function fileCause(fileAt: Instant | null, gap: Period & { readonly isFirst: boolean }): readonly Cause[] {
  if (fileAt === null || !gap.isFirst || fileAt <= gap.from) return []
  const code: ReasonCode = 'media_pending'
  return [{ from: gap.from, to: Math.min(fileAt, gap.to), code, words: null, facts: {} }]
}

function ownCause({ from, to, own }: Gap): readonly Cause[] {
  if (own === null) return []
  const period = { from: Math.max(own.waitedSince, from), to: Math.min(own.waitedUntil, to) }
  return period.to > period.from ? [{ ...period, code: own.waitedFor, words: null, facts: {} }] : []
}

/** How long at least one of these times lasted. */
function coveredMs(causes: readonly Period[]): number {
  let [covered, through] = [0, Number.NEGATIVE_INFINITY]
  for (const { from, to } of causes.toSorted((a, b) => a.from - b.from)) {
    covered += Math.max(0, to - Math.max(from, through))
    through = Math.max(through, to)
  }
  return covered
}

function sumByCode(causes: readonly Cause[], earlier: Earlier | null): readonly TimelineEntry[] {
  const codes = new Set(causes.map(({ code }) => code))
  codes.delete(STOPPED)
  return [...codes].flatMap((code) => {
    const same = causes.filter((cause) => cause.code === code)
    const last = same.reduce((latest, cause) => (cause.to >= latest.to ? cause : latest))
    const waitedMs = coveredMs(same)
    if (waitedMs < SHOWN_FROM_MS) return []
    const paced = code === ('pace' satisfies ReasonCode) ? aheadOf(earlier) : {}
    return [entry(last.to, { code, words: last.words, facts: { ...last.facts, ...paced, waitedMs } })]
  })
}

/** The part of a wait that no known cause explains. */
function rest({ earlier }: WaitFacts, { to, isFirst }: Gap, waitedMs: number): readonly TimelineEntry[] {
  if (!isFirst) return waitedFor(to, 'retrying' satisfies ReasonCode, { waitedMs })
  if (!earlier || earlier.count === 0) return waitedMs < UNEXPLAINED_FROM_MS ? [] : waitedFor(to, null, { waitedMs })
  const isOne = earlier.lastOpenMs >= waitedMs / 2
  const facts = isOne ? { openMs: earlier.lastOpenMs } : aheadOf(earlier)
  return waitedFor(to, 'behind_others' satisfies ReasonCode, { ...facts, waitedMs })
}

function waitedFor(
  at: Instant,
  code: string | null,
  facts: TimelineEntry['facts'] & { readonly waitedMs: number },
): readonly TimelineEntry[] {
  return facts.waitedMs < SHOWN_FROM_MS ? [] : [entry(at, { code, words: null, facts })]
}

function aheadOf(earlier: Earlier | null): TimelineEntry['facts'] {
  return earlier && earlier.count > 0 ? { before: earlier.count, isMore: earlier.isMore ? 1 : null } : {}
}

function entry(at: Instant, what: Pick<TimelineEntry, 'code' | 'words' | 'facts'>): TimelineEntry {
  return { at, kind: 'waiting', ...what }
}
