import { commandLine } from '../../core/command-line.ts'
import { explainDealtWith } from '../../core/message/dealt-with.ts'
import { repeatText } from '../../core/message/timeline.ts'
import type { MessageTimeline, TimelineEntry } from '../../core/ports/administration.ts'
import { explainReason } from '../../core/reasons.ts'
import { renderRemedy } from '../../core/render-remedy.ts'
import { durationText } from '../../format/durations.ts'
import { plainTime, relativeTime } from '../../format/instants.ts'
import { deletionText } from './deletion-text.ts'
import { goesOn } from './goes-on.ts'
import { timelineEntryText } from './json-shapes.ts'
import { printable } from './printable.ts'

/** The whole life of a message in plain words, for a person at a terminal. */
export function explainMessage(story: MessageTimeline, now: number): string {
  const { message, timeline } = story
  return [
    `Message ${message.id}`,
    `${message.type} from ${message.connection} to ${message.to}, of the account “${printable(message.account)}”`,
    '',
    ...status(story, now),
    ...links(story),
    ...content(story),
    '',
    ...timeline.map((entry, index) => timelineEntryLine(entry, timeline[index - 1], message.acceptedAt)),
  ].join('\n')
}

function status(timeline: MessageTimeline, now: number): readonly string[] {
  const { message, reasonWords, position, laneWait, expiresAt } = timeline
  const why = message.reason === null ? null : explainReason(message.reason, message.state, reasonWords)
  const lines = [`State: ${message.state}${message.reason ? ` (${message.reason})` : ''}`]
  if (why) lines.push(`Why: ${printable(why.sentence)}${quoted(why.words)}`)
  if (position !== null && position > 1) lines.push(`Place in its lane: ${position}`)
  if (timeline.waitsFor !== null)
    lines.push(`Waits for the earlier message to the same recipient: ${timeline.waitsFor}`)
  if (timeline.reportsMissing) lines.push(timeline.reportsMissing.cause)
  // For the head the lane's reason is its own and has been said.
  if (laneWait && laneWait.reason !== message.reason) {
    const { sentence, words } = explainReason(laneWait.reason, null, laneWait.words)
    lines.push(`The lane stands still: ${printable(sentence)}${quoted(words)}`)
  }
  if (laneWait?.until)
    lines.push(`Goes on: ${goesOn({ ...laneWait, until: laneWait.until }, now)}, at ${plainTime(laneWait.until)}`)
  if (expiresAt !== null) lines.push(`Expires: ${relativeTime(expiresAt, now)}, at ${plainTime(expiresAt)}`)
  const dealtWith = explainDealtWith(timeline)
  if (dealtWith?.done) lines.push(`What was done: ${printable(dealtWith.done)}`)
  const next = dealtWith?.nextStep ?? nextStep(timeline, why?.nextStep ?? '')
  if (next !== '') lines.push(`What to do: ${next}`)
  return lines
}

function nextStep({ message, laneWait, reportsMissing }: MessageTimeline, ofMessage: string): string {
  if (reportsMissing) return reportsMissing.nextStep
  const ofLane = laneWait && laneWait.reason !== message.reason ? laneWait : null
  const words = ofLane ? explainReason(ofLane.reason, null, ofLane.words).nextStep : ofMessage
  return renderRemedy(words, { number: message.connection, recipient: message.to, messageId: message.id })
}

function links({ message, resendOf, repeatsWhatLeft, resentAs, connectionState }: MessageTimeline): readonly string[] {
  const lines: string[] = []
  if (resendOf) lines.push(`It repeats the message ${resendOf}.`)
  if (repeatsWhatLeft)
    lines.push(
      `That one has left after all, so the recipient may get both. If this one is not wanted: ${commandLine`message cancel ${message.id}`}`,
    )
  if (resentAs) lines.push(`It was sent again as the message ${resentAs}.`)
  if (connectionState === 'removed') lines.push('Its connection was removed since.')
  return lines
}

function content({ bodyDeletedAt, message }: MessageTimeline): readonly string[] {
  return bodyDeletedAt === null ? [] : [deletionText(bodyDeletedAt, message.acceptedAt)]
}

function timelineEntryLine(entry: TimelineEntry, before: TimelineEntry | undefined, acceptedAt: number): string {
  const { at, kind, code, words, facts } = entry
  // An attempt that ends the message has just said why.
  const isSaid = kind === 'settled' && before?.code === code && before.words === words
  const explained = code === null ? { sentence: null, words } : explainReason(code, facts['state'], words)
  const why = isSaid
    ? ''
    : `${explained.sentence ? `: ${printable(explained.sentence)}` : ''}${quoted(explained.words)}`
  const details = Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [factText(name, value)]))
  const bracket = details.length === 0 ? '' : ` [${details.join(', ')}]`
  return `${plainTime(at)}  ${`+${durationText(at - acceptedAt)}`.padStart(11)}  ${ownText(entry)}${why}${bracket}`
}

function ownText(entry: TimelineEntry): string {
  return repeatText(entry) ?? timelineEntryText(entry.kind)
}

/** How facts read in a sentence, where their name alone does not say it. */
const FACT_TEXTS: Readonly<Record<string, (value: string) => string>> = {
  attempt: (value) => `attempt ${value}`,
  tookMs: (value) => `took ${value} ms`,
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

/** A time that the network cuts off to the second. */
function secondText(value: string): string {
  const at = Number(value)
  return Number.isFinite(at) ? plainTime(at).replace('.000', '') : value
}

function factText(name: string, value: string | number): string {
  const text = printable(String(value))
  return FACT_TEXTS[name]?.(text) ?? `${name} ${text}`
}

function quoted(words: string | null): string {
  return words ? ` “${printable(words)}”` : ''
}
