import type {
  BoundedCount,
  ConnectionGroup,
  ConnectionRow,
  PaceView,
} from '../../../src/contract/console/connections.ts'
import { durationText } from '../../../src/format/durations.ts'
import { digitsOfNumber } from '../../components/number-digits.ts'

/** "12", or "1,000+" for at least so many. */
export function countText({ count, isMore }: BoundedCount): string {
  return `${count.toLocaleString('en')}${isMore ? '+' : ''}`
}

export function messages({ count, isMore }: BoundedCount): string {
  return `${countText({ count, isMore })} ${count === 1 && !isMore ? 'message' : 'messages'}`
}

/** "14 messages wait". */
export function waitingText(waiting: BoundedCount): string {
  return waiting.count === 1 && !waiting.isMore ? '1 message waits' : `${messages(waiting)} wait`
}

/** What stands beside a number: "Support · WhatsApp Web". */
export function nameText({ name, channelLabel }: Pick<ConnectionRow, 'name' | 'channelLabel'>): string {
  return name === null ? channelLabel : `${name} · ${channelLabel}`
}

/** "12 in the last minute", "one every 2 s": the measured pace, or else the configured one. */
export function paceText({ publishedInLastMinute, perMessageMs }: PaceView): string {
  if (publishedInLastMinute.count > 0) return `${countText(publishedInLastMinute)} in the last minute`
  return perMessageMs === null ? 'Nothing in the last minute' : `At most one every ${durationText(perMessageMs)}`
}

export interface ListFilter {
  readonly value: ConnectionGroup | 'all'
  readonly label: string
  /** Undefined: not counted yet. */
  readonly count: number | undefined
}

type Counts = Readonly<Record<ConnectionGroup, number>>

export function listFilters(counts: Counts | undefined): readonly ListFilter[] {
  const all = counts && counts.problem + counts.paused + counts.waiting + counts.ready
  return [
    { value: 'all', label: 'All', count: all },
    { value: 'problem', label: 'Problems', count: counts?.problem },
    { value: 'waiting', label: 'Sending', count: counts?.waiting },
    { value: 'paused', label: 'Paused', count: counts?.paused },
  ]
}

const NONE_IN: Readonly<Record<ConnectionGroup, string>> = {
  problem: 'No connection has a problem.',
  paused: 'No connection is paused.',
  waiting: 'No connection is sending or keeps its pace. Messages of those with a problem or paused wait.',
  ready: 'Each connection has messages that wait.',
}

/** Why a list is empty. */
export function noMatchText(group: ConnectionGroup | undefined, find: string | undefined): string {
  if (find === undefined) return group === undefined ? '' : NONE_IN[group]
  return `No connection ${group === undefined ? 'of this account' : 'of these'} has a number that begins with “${find}”, or a name with it.`
}

/** What is sought when this is typed: the digits of a number however it is written, or a part of a name. */
export function soughtOf(typed: string): string | undefined {
  return digitsOfNumber(typed) ?? (typed.trim() || undefined)
}

const HOUR_MS = 3_600_000

/** What a gap and its jitter come to: "One every 40 to 50 s: about 80 an hour." Null: as fast as the network allows. */
export function gapEffect(leastGapMs: number | null, gapJitterMs: number | null): string | null {
  if (leastGapMs === null || gapJitterMs === null || leastGapMs + gapJitterMs === 0) return null
  const [least, most] = [durationText(leastGapMs), durationText(leastGapMs + gapJitterMs)]
  const anHour = Math.round(HOUR_MS / (leastGapMs + gapJitterMs / 2))
  return `One every ${least === most ? least : `${least} to ${most}`}: about ${anHour.toLocaleString('en')} an hour.`
}

/** "2 changes: least gap, jitter". */
export function changesText(labels: readonly string[]): string {
  const count = labels.length === 1 ? '1 change' : `${labels.length} changes`
  return `${count}: ${labels.map((label) => label.toLowerCase()).join(', ')}`
}

interface Deferred {
  readonly count: number
  readonly recipients: number
  readonly isMore: boolean
}

/** The heading of the deferred messages of a lane: "Deferred: 5, to 3 recipients". */
export function deferredText({ count, recipients, isMore }: Deferred): string {
  const to = recipients === 1 ? '1 recipient' : `${recipients.toLocaleString('en')} recipients`
  return `Deferred: ${isMore ? 'at least ' : ''}${count.toLocaleString('en')}, to ${to}`
}
