/** Every kind of entry that the timeline of a message can show, with its text. */
export const TIMELINE_KINDS = {
  accepted: 'Accepted',
  repeated: 'Asked again with the same key, so nothing was queued twice',
  waiting: 'Waited',
  'service-stopped': 'Nuncio stopped',
  'media-fetched': 'File downloaded',
  'media-retry': 'Download failed; it is tried again',
  'media-failed': 'File not downloaded',
  'media-lost': 'File lost; it is downloaded again',
  'media-elsewhere': 'Moved to another machine; its file is downloaded again',
  'attempt-begun': 'Attempt',
  'attempt-accepted': 'The network accepted it',
  'attempt-rejected': 'Not sent',
  'attempt-unknown': 'Result unknown',
  recovered: 'Nuncio stopped during this attempt, and asked what became of it',
  evidence: 'No evidence: nothing shows whether it was sent',
  'receipt-sent': 'The network reported: sent',
  'receipt-delivered': 'Delivered',
  'receipt-read': 'Read',
  'receipt-failed': 'The network reported: failed',
  'receipt-unreadable': 'Sent again to a device that could not read it',
  'receipt-contrary': 'Contradicting report: kept, nothing changed',
  settled: 'Finished',
  cancelled: 'Cancelled by a person',
  'connection-removed': 'Cancelled: number removed',
  resolved: 'Resolved by a person',
  'sent-again': 'Sent again',
  erased: 'Recipient erased: number and content are gone; times and result stay',
} as const

/** Facts that the sentences of an entry already say. */
export const SAID_FACTS: ReadonlySet<string> = new Set([
  'waitedMs',
  'before',
  'isMore',
  'openMs',
  'begunBy',
  'endedBy',
  'how',
  'lastedMs',
  'since',
  'until',
  'template',
  'uploadedAs',
  'tries',
  'captionDropped',
  'attempt',
  'by',
])

/** The actor, in timelines and in the audit log, of a message that is repeated in another form for its network. */
export const CHANNEL_ACTOR = 'channel'

export type TimelineKind = keyof typeof TIMELINE_KINDS
