/** Every kind of entry that the timeline of a message can show, with its text. */
export const TIMELINE_KINDS = {
  accepted: 'Accepted and stored',
  repeated: 'Asked for again under the same idempotency key; nothing was queued twice',
  waiting: 'The lane waits',
  'media-fetched': 'Media fetched',
  'media-retry': 'Media could not be fetched; it is tried again',
  'media-failed': 'Media could not be had',
  'media-lost': 'Its fetched file has gone missing; it is fetched again',
  'media-elsewhere': 'Its lane came from another machine; its media is fetched again here',
  'attempt-begun': 'Handed to the channel',
  'attempt-accepted': 'The network took it',
  'attempt-rejected': 'Certainly not sent',
  'attempt-unknown': 'It is unknown whether it was sent',
  recovered: 'Nuncio stopped during this attempt; afterwards it asked the channel what became of it',
  evidence: 'Nothing has shown whether it was sent',
  'receipt-sent': 'The network reported that it had taken it',
  'receipt-delivered': 'Delivered to the recipient’s device',
  'receipt-read': 'Read by the recipient',
  'receipt-failed': 'The network reported that it failed',
  'receipt-contrary': 'A report that contradicts what is known; kept, not applied',
  settled: 'Came to its end',
  cancelled: 'Taken out of its lane by a person',
  'connection-removed': 'Taken out of its lane, because its connection was removed',
  resolved: 'Resolved by a person',
  'sent-again': 'Sent again as a new message',
  erased: 'Who it was for and what it said were erased; when it was sent and how it ended stay',
} as const

/** The actor, in timelines and in the audit log, of a message that is repeated in another form for its network. */
export const CHANNEL_ACTOR = 'channel'

/** The text of an entry about a repeated message; null for all other entries. */
export function repeatText({ kind, facts }: { readonly kind: string; readonly facts: RepeatFacts }): string | null {
  if (kind !== 'sent-again' || typeof facts['oldMessage'] !== 'string') return null
  if (facts['by'] === CHANNEL_ACTOR) return 'Made by the channel to repeat another message as a template'
  return 'Made by a person to repeat another message'
}

type RepeatFacts = Readonly<Record<string, string | number | null>>

export type TimelineKind = keyof typeof TIMELINE_KINDS
