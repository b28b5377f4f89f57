import type { LogTimelineEntry } from '../../../contract/console/log.ts'
import { SAID_FACTS } from '../../../core/message/timeline.ts'
import type { MessageTimeline, TimelineEntry } from '../../../core/ports/administration.ts'
import { explainEntry, timelineTitle } from '../../../core/sentences/explain-entry.ts'
import { capitalized } from '../../../format/capitalized.ts'
import { tookText } from '../../../format/durations.ts'

/** The timeline of a message, as the console shows it. */
export function presentTimelineEntry(view: MessageTimeline): LogTimelineEntry[] {
  const { timeline, message } = view
  return timeline.map((entry, index) => {
    const { at, kind, code } = entry
    const isSaid = isSaidBefore(entry, timeline[index - 1])
    const why = explainEntry(entry, view)
    return {
      at,
      // A clock may have been set back since.
      offsetMs: Math.max(0, at - message.acceptedAt),
      kind,
      title: timelineTitle(entry, view),
      tone: toneOf(entry),
      code,
      meaning: isSaid ? null : why.cause,
      words: isSaid ? null : why.words,
      facts: presentFacts(entry.facts, (name) => Object.hasOwn(FACTS, name)),
      privateFacts: presentFacts(entry.facts, (name) => !Object.hasOwn(FACTS, name)),
    }
  })
}

/** Whether the attempt before, which ended the message, has given the same reason. */
function isSaidBefore({ kind, code, words }: TimelineEntry, before: TimelineEntry | undefined): boolean {
  return kind === 'settled' && before?.code === code && before.words === words
}

const TONES: Readonly<Record<string, LogTimelineEntry['tone']>> = {
  accepted: 'good',
  waiting: 'wait',
  'service-stopped': 'wait',
  'media-fetched': 'good',
  'media-retry': 'wait',
  'media-failed': 'bad',
  'media-lost': 'wait',
  'attempt-accepted': 'good',
  'attempt-rejected': 'bad',
  'attempt-unknown': 'unknown',
  recovered: 'wait',
  'receipt-delivered': 'good',
  'receipt-read': 'good',
  'receipt-failed': 'bad',
  'receipt-unreadable': 'unknown',
  'receipt-contrary': 'unknown',
  cancelled: 'bad',
  'connection-removed': 'bad',
  resolved: 'good',
}
const TONE_OF_END: Readonly<Record<string, LogTimelineEntry['tone']>> = { PUBLISHED: 'good', UNCONFIRMED: 'unknown' }

function toneOf({ kind, facts }: TimelineEntry): LogTimelineEntry['tone'] {
  if (kind === 'settled') return TONE_OF_END[String(facts['state'])] ?? 'bad'
  return TONES[kind] ?? 'plain'
}

/** Labels of facts, and how to format their values. */
const FACTS: Readonly<Record<string, readonly [name: string, read?: (value: string) => string]>> = {
  tookMs: ['Took', (value) => tookText(Number(value))],
  sizeBytes: ['Size', (value) => `${Number(value).toLocaleString('en')} bytes`],
  mime: ['Content'],
  requestId: ['Request'],
  token: ['Token'],
  from: ['Caller'],
  userAgent: ['Program'],
  newMessage: ['New message'],
  oldMessage: ['Old message'],
  // As its badge says.
  state: ['State', (value) => capitalized(value.toLowerCase())],
  was: ['Was'],
  networkTime: ['By the network’s clock', (value) => instantText(value)],
  until: ['Goes on', (value) => instantText(value)],
}
/** Network ids may contain the recipient's number. Facts of a newer version are private, too. */
const PRIVATE_FACTS: typeof FACTS = { sha256: ['SHA-256'], networkId: ['Id in the network'] }

function presentFacts(facts: TimelineEntry['facts'], isWanted: (name: string) => boolean): LogTimelineEntry['facts'] {
  return Object.entries(facts).flatMap(([name, value]) => {
    if (value === null || SAID_FACTS.has(name) || !isWanted(name)) return []
    const [label, read] = FACTS[name] ?? PRIVATE_FACTS[name] ?? [name]
    return [{ name: label, value: read ? read(String(value)) : String(value) }]
  })
}

function instantText(value: string): string {
  const at = Number(value)
  return Number.isFinite(at) && at > 1e12 ? `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC` : value
}
