import type { AttemptRecord, LaneTransition } from '../../../core/ports/lanes.ts'
import { bigintArray, booleanArray, integerArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import type { Parameter } from '../connection/text-query.ts'
import type { KnownLane } from './lane-cache.ts'

/** A step, and what it does not say of its lane. */
export interface LaneStep {
  readonly step: LaneTransition
  readonly lane: KnownLane
}

// How an attempt ends, in the words of `write_steps`.
const ENDS = { finalize: 1, 'keep-queued': 2, 'await-evidence': 3 } as const

/**
 * What `write_step` takes after its first four parameters; null when the step is not of the kind that it writes: one that
 * settles a message which needs nothing beside, or opens one, or both.
 */
export function toLeanValues({ step, lane }: LaneStep): readonly Parameter[] | null {
  const { connectionId, epoch, at, finish: close, start: open } = step
  if (hasExtras({ step, lane }) || (close ? !isPlain(close) : !open)) return null
  const { accountId } = lane
  const opening = [open?.sequence ?? null, open?.number ?? null, open?.onlyIfLowest ?? false]
  return [connectionId, accountId, epoch, at, ...closeValues(close), ...opening]
}

function closeValues(close: LaneTransition['finish']): readonly Parameter[] {
  if (close?.disposition.do !== 'finalize') return [null, null, null, null, null, null, null, null]
  const { sequence, number, startedAt, endedAt, networkId } = close.attempt
  const { as, reason, words } = close.disposition
  return [sequence, number, startedAt, endedAt, clean(networkId), as, reason, clean(words)]
}

/** What `write_steps` takes after its first five parameters. Where all have nothing to say, null is sent instead. */
export function toValues(steps: readonly LaneStep[], skipsLocked: boolean): readonly Parameter[] {
  const column = <Item>(pick: (step: LaneTransition) => Item | null) => steps.map(({ step }) => pick(step))
  const attempts = column(({ finish: close }) => close?.attempt ?? null)
  const ofAttempt = <Item>(pick: (attempt: AttemptRecord) => Item | null) =>
    attempts.map((attempt) => attempt && pick(attempt))
  const settles = column(({ finish: close }) => (close?.disposition.do === 'finalize' ? close.disposition : null))
  const hasEnds = skipsLocked || attempts.some((attempt) => attempt !== null)
  return [
    textArray(column(({ connectionId }) => connectionId)),
    textArray(steps.map(({ lane }) => lane.accountId)),
    bigintArray(column(({ epoch }) => epoch)),
    bigintArray(column(({ at }) => at)),
    hasEnds ? integerArray(column(({ finish: close }) => (close ? ENDS[close.disposition.do] : 0))) : null,
    bigints(ofAttempt(({ sequence }) => sequence)),
    integers(ofAttempt(({ number }) => number)),
    bigints(ofAttempt(({ startedAt }) => startedAt)),
    bigints(ofAttempt(({ endedAt }) => endedAt)),
    texts(ofAttempt(({ outcome }) => outcome)),
    texts(ofAttempt(({ code }) => code)),
    texts(ofAttempt(({ words }) => clean(words))),
    texts(ofAttempt(({ networkId }) => clean(networkId))),
    texts(settles.map((settle) => settle?.as ?? null)),
    texts(settles.map((settle) => settle?.reason ?? null)),
    texts(
      column(({ finish: close }) => (close && 'words' in close.disposition ? clean(close.disposition.words) : null)),
    ),
    bigints(
      column(({ finish: close }) => (close?.disposition.do === 'await-evidence' ? close.disposition.until : null)),
    ),
    bigints(column(({ start: open }) => open?.sequence ?? null)),
    integers(column(({ start: open }) => open?.number ?? null)),
    booleans(column(({ start: open }) => open?.onlyIfLowest || null)),
    booleans(column(({ finish: close }) => close && isPlain(close))),
    ...toExtraValues(steps),
  ]
}

/** Of the few lanes that write something beside: which steps they are, counted from one, and what it is. */
function toExtraValues(steps: readonly LaneStep[]): readonly Parameter[] {
  const positions = [...steps.keys()].filter((at) => hasExtras(steps[at] as LaneStep))
  const extras = positions.map((at) => steps[at] as LaneStep)
  const column = <Item>(pick: (step: LaneTransition) => Item | null) => extras.map(({ step }) => pick(step))
  return [
    integers(positions.map((at) => at + 1)),
    bigints(column(({ discard: drop }) => drop?.sequence ?? null)),
    texts(column(({ discard: drop }) => drop?.as ?? null)),
    texts(column(({ discard: drop }) => drop?.reason ?? null)),
    texts(column(({ discard: drop }) => clean(drop?.words ?? null))),
    booleans(column(({ memory }) => memory !== undefined)),
    texts(column(({ memory }) => (memory?.head ? JSON.stringify(memory.head) : null))),
    texts(column(({ memory }) => (memory?.failureStreak ? JSON.stringify(memory.failureStreak) : null))),
    texts(column(({ memory }) => memory?.wait?.reason ?? null)),
    texts(column(({ memory }) => clean(memory?.wait?.words ?? null))),
    bigints(column(({ memory }) => memory?.wait?.until ?? null)),
    booleans(extras.map(({ lane }) => lane.hasPace)),
  ]
}

function hasExtras({ step, lane }: LaneStep): boolean {
  return step.discard !== null || step.memory !== undefined || (lane.hasPace && step.start !== null)
}

/** The network took it, and there is nothing more to say: such an attempt is told from its message. */
function isPlain({ attempt, disposition }: NonNullable<LaneTransition['finish']>): boolean {
  const { outcome, code, words } = attempt
  return disposition.do === 'finalize' && outcome === 'accepted' && code === null && words === null
}

/** What networks say may hold what PostgreSQL's text may not. */
function clean(text: string | null): string | null {
  return text && withoutNul(text)
}

function texts(values: readonly (string | null)[]): Buffer | null {
  return isEmpty(values) ? null : textArray(values)
}

function bigints(values: readonly (number | null)[]): Buffer | null {
  return isEmpty(values) ? null : bigintArray(values)
}

function integers(values: readonly (number | null)[]): Buffer | null {
  return isEmpty(values) ? null : integerArray(values)
}

function booleans(values: readonly (boolean | null)[]): Buffer | null {
  return isEmpty(values) ? null : booleanArray(values)
}

function isEmpty(values: readonly unknown[]): boolean {
  return values.every((value) => value === null)
}
