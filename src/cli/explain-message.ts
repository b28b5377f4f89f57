import type { MessageStory, TimelineEntry } from '../core/ports/administration.ts'
import { explainReason } from '../core/reasons.ts'
import { momentText } from './json-shapes.ts'
import { printable } from './print/printable.ts'
import { plainTime, relativeTime } from './print/times.ts'

/** The whole life of a message in plain words, for a person at a terminal. */
export function explainInWords(story: MessageStory, now: number): string {
  const { message } = story
  return [
    `Message ${message.id}`,
    `${message.type} from ${message.connection} to ${message.to}, of the account “${printable(message.account)}”`,
    '',
    ...standing(story, now),
    ...links(story),
    '',
    ...story.timeline.map((entry) => momentLine(entry, message.acceptedAt)),
  ].join('\n')
}

function standing(story: MessageStory, now: number): readonly string[] {
  const { message, reasonWords, position, laneWait, expiresAt } = story
  const why = message.reason === null ? null : explainReason(message.reason)
  const lines = [`State: ${message.state}${message.reason ? ` (${message.reason})` : ''}`]
  if (why) lines.push(`Why: ${why.sentence}${quoted(reasonWords)}`)
  if (position !== null && position > 1) lines.push(`Place in its lane: ${position}`)
  // For the head the lane's reason is its own and has been said.
  if (laneWait && laneWait.reason !== message.reason) {
    lines.push(`The lane stands still: ${explainReason(laneWait.reason).sentence}${quoted(laneWait.words)}`)
  }
  if (laneWait?.until) lines.push(`Goes on: ${relativeTime(laneWait.until, now)}, at ${plainTime(laneWait.until)}`)
  if (expiresAt !== null) lines.push(`Expires: ${relativeTime(expiresAt, now)}, at ${plainTime(expiresAt)}`)
  const next = nextStep(story, why?.nextStep ?? '')
  if (next !== '') lines.push(`What to do: ${next}`)
  return lines
}

function nextStep({ message, laneWait }: MessageStory, ofMessage: string): string {
  const words = laneWait && laneWait.reason !== message.reason ? explainReason(laneWait.reason).nextStep : ofMessage
  return words.replace('NUMBER', message.connection).replace(/\bID\b/, message.id)
}

function links({ resendOf, resentAs, connectionState }: MessageStory): readonly string[] {
  const lines: string[] = []
  if (resendOf) lines.push(`It repeats the message ${resendOf}.`)
  if (resentAs) lines.push(`It was sent again as the message ${resentAs}.`)
  if (connectionState === 'removed') lines.push('Its connection was removed since.')
  return lines
}

function momentLine({ at, kind, code, words, facts }: TimelineEntry, acceptedAt: number): string {
  const reason = code ? `: ${explainReason(code).sentence}` : ''
  const known = Object.entries(facts).filter(([, value]) => value !== null)
  const details =
    known.length === 0 ? '' : ` [${known.map(([name, value]) => `${name} ${printable(String(value))}`).join(', ')}]`
  return `${plainTime(at)}  ${offset(at - acceptedAt).padStart(9)}  ${momentText(kind)}${reason}${quoted(words)}${details}`
}

function offset(ms: number): string {
  if (ms < 0) return `${ms} ms`
  if (ms < 1_000) return `+${ms} ms`
  if (ms < 60_000) return `+${(ms / 1_000).toFixed(1)} s`
  return ms < 3_600_000 ? `+${(ms / 60_000).toFixed(1)} min` : `+${(ms / 3_600_000).toFixed(1)} h`
}

function quoted(words: string | null): string {
  return words ? ` “${printable(words)}”` : ''
}
