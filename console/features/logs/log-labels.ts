import type { WaitingPlaceView } from '../../../src/contract/console/lane-page.ts'
import type { LogEntry, LogRow } from '../../../src/contract/console/log.ts'
import { durationText } from '../../../src/format/durations.ts'
import { estimateText } from '../../components/instants.ts'
import { waitText } from '../../components/wait-text.ts'

export const TYPE_LABELS: Readonly<Record<string, string>> = {
  message: 'Text',
  image: 'Image',
  document: 'Document',
  video: 'Video',
  audio: 'Audio',
}

export const STATE_LABELS = {
  QUEUED: 'Queued',
  SENDING: 'Sending',
  PUBLISHED: 'Published',
  DELIVERED: 'Delivered',
  READ: 'Read',
  FAILED: 'Failed',
  UNCONFIRMED: 'Unconfirmed',
  EXPIRED: 'Expired',
  CANCELLED: 'Cancelled',
} as const

export const RESULT_LABELS = {
  published: 'Sent (published, delivered or read)',
  waiting: 'Waiting',
  failed: 'Failed',
  unconfirmed: 'Unconfirmed',
  expired: 'Expired',
  cancelled: 'Cancelled',
  refused: 'Refused',
  accepted: 'Accepted',
  all: 'Accepted or refused',
} as const

export const STATUS_LABELS = {
  '200': '200 Accepted',
  '4xx': '4xx Any refusal of what was sent',
  '400': '400 Bad request',
  '403': '403 Access denied',
  '404': '404 Connection not found',
  '429': '429 Too many requests',
  '5xx': '5xx Our side',
} as const

/** The beginning of its text. An empty one was refused, and shows as nothing. */
export function previewOf({ preview, errors }: Pick<LogRow, 'preview' | 'errors'>): string | null {
  return errors.some(({ code }) => code === 'text_empty') ? '(empty)' : preview
}

/** The state of a row in the list: a request that made no message was refused. */
export function stateOf({ outcome, state }: Pick<LogEntry, 'outcome' | 'state'>): string {
  return outcome === 'refused' ? 'REFUSED' : (state ?? 'GONE')
}

const ORDINALS = ['', '', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth']

/** Why a row is in its state, or when it was sent. Null: nothing more is known. */
export function causeOf(row: LogRow): string | null {
  const { outcome, resentBy, reason, isPaused } = row
  if (row.summed) return `${sumText(row.summed.requests)}, not listed one by one${firstError(row, ': ')}`
  if (outcome === 'refused') return endedToken(row) ?? (firstError(row) || null)
  if (outcome === 'repeated') return 'Repeat of an earlier request'
  if (resentBy !== null) return resentBy === 'Nuncio' ? 'Sent again as a template' : `Sent again by ${resentBy}`
  if (isPaused) return 'Paused'
  return reason?.list ?? sendingText(row)
}

/** Only a known token was ever valid. The reply to the caller does not say so. */
function endedToken({ errors: [first], token }: LogRow): string | null {
  if (first?.code !== 'unauthorized' || token === null) return null
  return `Token ${token.name} ${token.isDeleted ? 'deleted' : 'expired'}`
}

function firstError({ errors: [first, ...others], summed }: LogRow, before = ''): string {
  if (!first) return ''
  // The wrong fields may differ between the requests.
  const field = summed || first.field === null ? '' : `${shortField(first.field)}: `
  return `${before}${field}${first.list}${others.length > 0 ? `, +${others.length}` : ''}`
}

/** "url" of `message.media.url`. */
function shortField(field: string): string {
  return field.slice(field.lastIndexOf('.') + 1)
}

/** "sent in 0.9 s, third attempt". */
function sendingText({ sentAfterMs, attempts }: LogRow): string | null {
  const nth = attempts !== null && attempts > 1 ? `${ORDINALS[attempts] ?? `${attempts}th`} attempt` : null
  if (sentAfterMs === null) return nth
  const took = `sent in ${durationText(Math.max(0, sentAfterMs))}`
  return nth === null ? took : `${took}, ${nth}`
}

/** Where it stands in its lane; undefined: it neither waits nor is being sent, or the state has changed since. */
export function placeOf<Place extends Pick<WaitingPlaceView, 'isOpen'>>(
  { state }: Pick<LogRow, 'state'>,
  place: Place | undefined,
): Place | undefined {
  return state === (place?.isOpen ? 'SENDING' : 'QUEUED') ? place : undefined
}

/** What stands beside the state of a row. Null: nothing more is known. */
export function besideState(row: LogRow, place: WaitingPlaceView | undefined, now: number): string | null {
  // What became of an attempt whose result is awaited matters more than which one it is.
  if (place?.isOpen) return place.wait === null ? causeOf(row) : placeText(place, now)
  return causeOf(row) ?? (place ? placeText(place, now) : null)
}

/** "19th in its lane, about 14:46", or what it waits for. Null: nothing more is known. */
export function placeText(place: WaitingPlaceView, now: number): string | null {
  const { position, estimatedAt, wait } = place
  if (wait?.code !== 'pace') {
    const text = waitText(place, now)
    if (text !== null) return text
  }
  const about = estimatedAt === null ? '' : `, about ${estimateText(estimatedAt, now)}`
  const turn =
    position === null
      ? 'Over 1,000 before it'
      : position === 1
        ? 'Next in its lane'
        : `${nthText(position)} in its lane`
  return `${turn}${about}`
}

/** "19th", "1,002nd". */
function nthText(position: number): string {
  return `${position.toLocaleString('en')}${SUFFIXES[ORDINAL.select(position)]}`
}

const ORDINAL = new Intl.PluralRules('en', { type: 'ordinal' })
const SUFFIXES: Readonly<Record<Intl.LDMLPluralRule, string>> = {
  zero: 'th',
  one: 'st',
  two: 'nd',
  few: 'rd',
  many: 'th',
  other: 'th',
}

/** For an entry that stands for many requests. */
export function sumText(requests: number): string {
  return requests === 1 ? '1 request' : `${requests.toLocaleString('en')} requests`
}
