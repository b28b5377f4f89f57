import { atStart, capitalized } from '../../format/capitalized.ts'
import { durationText } from '../../format/durations.ts'
import { CHANNEL_ACTOR, nameActor } from '../../format/name-actor.ts'
import { MOST_DOWNLOADS } from '../dispatch/media/stage.ts'
import { ERASED } from '../message/erased.ts'
import { TIMELINE_KINDS } from '../message/timeline.ts'
import type { MessageTimeline, TimelineEntry } from '../ports/administration.ts'
import { explainReason, networkOf } from '../reasons.ts'
import { pastCause, stopText } from './explain-waited.ts'
import { ordinal } from './was-it-sent.ts'

/** Titles for a message that is finished. */
const ENDS: Readonly<Record<string, string>> = {
  PUBLISHED: 'Finished: sent',
  FAILED: 'Finished: not sent',
  UNCONFIRMED: 'Finished: nobody knows whether it arrived',
  EXPIRED: 'Finished: expired',
  CANCELLED: 'Finished: cancelled',
}

type Title = (facts: TimelineEntry['facts'], network: string | undefined) => string | undefined

const TITLES: Readonly<Record<string, Title>> = {
  settled: ({ state }) => ENDS[String(state)],
  waiting: ({ waitedMs }) => (waitedMs === undefined ? undefined : `Waited ${durationText(Number(waitedMs))}`),
  'service-stopped': ({ how }) => (how === 'frozen' ? 'Nuncio stood still' : undefined),
  'media-retry': ({ tries }) => (tries ? `Download failed, try ${String(tries)} of ${MOST_DOWNLOADS}` : undefined),
  'media-failed': ({ tries }) =>
    Number(tries) > 1 ? `File not downloaded, try ${String(tries)} of ${MOST_DOWNLOADS}` : undefined,
  'attempt-begun': ({ attempt, template }) =>
    template
      ? `Attempt ${String(attempt)}: as template ${template}`
      : attempt === undefined
        ? undefined
        : `Attempt ${String(attempt)}`,
  'attempt-accepted': (_, network) => network && `${capitalized(network)} accepted it`,
  'receipt-sent': (_, network) => network && `${capitalized(network)} reported: sent`,
  'receipt-failed': (_, network) => network && `${capitalized(network)} reported: failed`,
  'attempt-rejected': ({ attempt }) => numbered(attempt, (n) => `Attempt ${n}: not sent`),
  'attempt-unknown': ({ attempt }) => numbered(attempt, (n) => `Attempt ${n}: result unknown`),
  recovered: ({ attempt }) => numbered(attempt, (n) => `Nuncio stopped during attempt ${n}`),
  cancelled: ({ by }) => (by ? `Cancelled by ${who(by)}` : undefined),
  erased: ({ by }) => (by ? `Recipient erased by ${who(by)}` : undefined),
  resolved: ({ by, as }) =>
    by ? `${atStart(who(by))}: “${as === 'arrived' ? 'It arrived' : 'Send again'}”` : undefined,
  'sent-again': ({ by, oldMessage }) => {
    if (typeof oldMessage !== 'string') return by ? `Sent again by ${who(by)}` : undefined
    if (by === CHANNEL_ACTOR) return 'Made by Nuncio to repeat another message as a template'
    return `Made by ${by ? who(by) : 'a person'} to repeat another message`
  },
}

function numbered(attempt: string | number | null | undefined, title: (n: string) => string): string | undefined {
  return attempt === undefined || attempt === null ? undefined : title(String(attempt))
}

const SAID_BY_TITLE: ReadonlySet<string> = new Set(['cancelled', 'connection-removed', 'resolved'])

/** The title of an entry in the timeline of a message. A kind of a newer version reads as itself. */
export function timelineTitle(
  { kind, facts }: Pick<TimelineEntry, 'kind' | 'facts'>,
  { channel }: Pick<MessageTimeline, 'channel'>,
): string {
  const general = Object.hasOwn(TIMELINE_KINDS, kind) ? TIMELINE_KINDS[kind as keyof typeof TIMELINE_KINDS] : kind
  return TITLES[kind]?.(facts, networkOf('', channel)) ?? general
}

/** Why it was so, and foreign words that this does not say. */
export function explainEntry(
  { kind, code, words, facts }: TimelineEntry,
  { message, channel }: Pick<MessageTimeline, 'message' | 'channel'>,
): { readonly cause: string | null; readonly words: string | null } {
  const plain = plainCause({ kind, code, words, facts }, { number: message.connection, channel })
  if (plain !== undefined) return { cause: plain, words: null }
  if (code === null || SAID_BY_TITLE.has(kind)) return { cause: null, words }
  const state = facts['state']
  const known = { number: message.connection, to: message.to === ERASED ? undefined : message.to }
  const { cause, quote } = explainReason(code, {
    state: typeof state === 'string' ? state : null,
    words,
    channel,
    facts: known,
  })
  return { cause, words: quote?.words ?? null }
}

/** Where facts alone say it. Undefined: they do not. */
function plainCause(
  entry: Omit<TimelineEntry, 'at'>,
  known: { readonly number: string; readonly channel: string },
): string | null | undefined {
  const { kind, facts } = entry
  switch (kind) {
    case 'waiting': {
      const cause = pastCause(entry, known)
      return cause && `${capitalized(cause)}.`
    }
    case 'service-stopped':
      return stopText(facts)
    case 'media-fetched': {
      const tries = Number(facts['tries'] ?? 1)
      const at = tries > 1 ? `At the ${ordinal(tries)} try. ` : ''
      return (
        `${at}${facts['captionDropped'] ? 'Its caption is left out: an audio message has none.' : ''}`.trim() || null
      )
    }
    case 'attempt-begun':
      return facts['uploadedAs'] ? `With its file, uploaded as ${facts['uploadedAs']}.` : null
    default:
      return undefined
  }
}

function who(by: string | number | null): string {
  return nameActor(String(by))
}
