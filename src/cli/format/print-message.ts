import { SAID_FACTS } from '../../core/message/timeline.ts'
import type { MessageTimeline, TimelineEntry } from '../../core/ports/administration.ts'
import { explainEntry, timelineTitle } from '../../core/sentences/explain-entry.ts'
import { explainMessage } from '../../core/sentences/explain-message.ts'
import { durationText, tookText } from '../../format/durations.ts'
import { plainTime, relativeTime } from '../../format/instants.ts'
import { deletionText } from './deletion-text.ts'
import { goesOn } from './goes-on.ts'
import { nextStepText } from './json-shapes.ts'
import { printable } from './printable.ts'

/** The whole life of a message in plain words, for a person at a terminal. */
export function printMessage(view: MessageTimeline, now: number): string {
  const { message, timeline } = view
  return [
    `Message ${message.id}`,
    `${message.type} from ${message.connection} to ${message.to}, of the account “${printable(message.account)}”`,
    '',
    ...status(view, now),
    ...links(view),
    ...content(view),
    '',
    ...timeline.map((entry, index) => timelineEntryLine(entry, timeline[index - 1], view)),
  ].join('\n')
}

function status(timeline: MessageTimeline, now: number): readonly string[] {
  const { message, position, laneWait, expiresAt } = timeline
  const explained = explainMessage(timeline)
  const { sentence, cause, quote, until } = explained
  const lines = [`State: ${message.state}${message.reason ? ` (${message.reason})` : ''}`, sentence]
  if (cause) lines.push(`Why: ${printable(cause)}${quoted(quote?.words ?? null, quote?.speaker)}`)
  if (position !== null && position > 1) lines.push(`Place in its lane: ${position}`)
  if (timeline.waitsFor !== null) lines.push(`The earlier message: ${timeline.waitsFor.id}`)
  const reason = laneWait?.reason ?? ''
  if (until) lines.push(`Goes on: ${goesOn({ reason, until }, now)}, at ${plainTime(until)}`)
  if (expiresAt !== null) lines.push(`Expires: ${relativeTime(expiresAt, now)}, at ${plainTime(expiresAt)}`)
  if (explained.nextStep !== '') lines.push(`What to do: ${printable(nextStepText(timeline, explained))}`)
  return lines
}

function links({ resendOf, resentAs, connectionState }: MessageTimeline): readonly string[] {
  const lines: string[] = []
  if (resendOf) lines.push(`It repeats the message ${resendOf}.`)
  if (resentAs) lines.push(`It was sent again as the message ${resentAs}.`)
  if (connectionState === 'removed') lines.push('Its connection was removed since.')
  return lines
}

function content({ bodyDeletedAt, message }: MessageTimeline): readonly string[] {
  return bodyDeletedAt === null ? [] : [deletionText(bodyDeletedAt, message.acceptedAt)]
}

function timelineEntryLine(entry: TimelineEntry, before: TimelineEntry | undefined, view: MessageTimeline): string {
  const { at, kind, code, words, facts } = entry
  // The entry of the last attempt has just said why.
  const isSaid = kind === 'settled' && before?.code === code && before.words === words
  const explained = explainEntry(entry, view)
  const why = isSaid ? '' : `${explained.cause ? `: ${printable(explained.cause)}` : ''}${quoted(explained.words)}`
  const details = Object.entries(facts).flatMap(([name, value]) =>
    value === null || SAID_FACTS.has(name) ? [] : [factText(name, value)],
  )
  const bracket = details.length === 0 ? '' : ` [${details.join(', ')}]`
  return `${plainTime(at)}  ${`+${durationText(at - view.message.acceptedAt)}`.padStart(11)}  ${timelineTitle(entry, view)}${why}${bracket}`
}

/** The texts of facts whose name alone does not explain them. */
const FACT_TEXTS: Readonly<Record<string, (value: string) => string>> = {
  tookMs: (value) => `took ${tookText(Number(value))}`,
  sizeBytes: (value) => `${value} bytes`,
  mime: (value) => value,
  sha256: (value) => `SHA-256 ${value}`,
  requestId: (value) => `request ${value}`,
  token: (value) => `token “${value}”`,
  userAgent: (value) => `by ${value}`,
  networkId: (value) => `network id ${value}`,
  newMessage: (value) => value,
  oldMessage: (value) => value,
  state: (value) => value,
  networkTime: (value) => `the network says ${secondText(value)}`,
}

/** A time that the network gives in whole seconds, without a fraction. */
function secondText(value: string): string {
  const at = Number(value)
  return Number.isFinite(at) ? plainTime(at).replace('.000', '') : value
}

function factText(name: string, value: string | number): string {
  const text = printable(String(value))
  return FACT_TEXTS[name]?.(text) ?? `${name} ${text}`
}

function quoted(words: string | null, speaker?: string): string {
  return words ? ` ${speaker ? `${speaker}: ` : ''}“${printable(words)}”` : ''
}
