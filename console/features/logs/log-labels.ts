import type { LogEntry } from '../../../src/contract/console/log.ts'

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
  published: 'Published, delivered or read',
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

/** The state of a row in the list: a request that made no message was refused. */
export function stateOf({ outcome, state }: LogEntry): string {
  return outcome === 'refused' ? 'REFUSED' : (state ?? 'GONE')
}

/** The reason, in one line below the state. */
export function whyOf({ outcome, errors, reason, summed, resentBy }: LogEntry): string | null {
  if (resentBy !== null) return resentBy === 'Nuncio' ? 'Sent again as a template' : `Sent again by ${resentBy}`
  if (outcome !== 'refused') return reason?.meaning ?? null
  const [first, ...others] = errors
  // The wrong fields may differ between the requests.
  if (summed) return first?.code ?? null
  return first
    ? `${first.field ?? 'request'}: ${first.code}${others.length > 0 ? ` and ${others.length} more` : ''}`
    : null
}

/** For an entry that stands for many requests. */
export function sumText(requests: number): string {
  return requests === 1 ? '1 request' : `${requests.toLocaleString('en')} requests`
}

export function offsetText(ms: number): string {
  if (ms < 1_000) return `+${ms} ms`
  if (ms < 60_000) return `+${(ms / 1_000).toFixed(1)} s`
  return ms < 3_600_000 ? `+${(ms / 60_000).toFixed(1)} min` : `+${(ms / 3_600_000).toFixed(1)} h`
}

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
