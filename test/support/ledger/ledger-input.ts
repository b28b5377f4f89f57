/** What the client knows about one request, with all tries under its idempotency key taken together. */
export interface SentRequest {
  readonly connection: string
  readonly to: string
  /** The content that has to arrive. Only the fields named here are compared. */
  readonly content: Partial<Pick<DeliveredEntry, 'type' | 'text' | 'caption' | 'name' | 'sizeBytes' | 'sha256'>>
  /** When the first try was sent, in milliseconds of the client's monotonic clock. */
  readonly sentAt: number
  readonly answer: ClientAnswer
}

/** `refused` promises that nothing was stored. A client that is not certain must use `unknown`. */
type ClientAnswer =
  | { readonly kind: 'acked'; readonly messageId: string; readonly at: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unknown' }

/** A message as `nuncio message list --json` shows it, and its text. */
export interface ListedMessage {
  readonly id: string
  readonly connection: string
  readonly to: string
  readonly state: string
  readonly reason: string | null
  /** Milliseconds of the wall clock of the service. */
  readonly acceptedAt: number
  /** Its text or caption. Null if it has none, or if its content was deleted. */
  readonly text: string | null
  /** When its media was fetched, or known to be unavailable. Null or absent without media. */
  readonly mediaEndedAt?: number | null
}

/** What was delivered, as `nuncio sandbox inbox --json` shows it, in order of delivery. */
export interface DeliveredEntry {
  readonly messageId: string
  readonly connection: string
  readonly to: string
  readonly type: string
  readonly text: string | null
  readonly caption: string | null
  readonly name: string | null
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly deliveredAt: number
}

/** An attempt as the service recorded it. `endedAt` is null while it is open. */
export interface RecordedAttempt {
  readonly messageId: string
  readonly connection: string
  readonly number: number
  readonly startedAt: number
  readonly endedAt: number | null
  readonly outcome: string | null
  /** When its media was fetched, or known to be unavailable. Null or absent without media. */
  readonly mediaEndedAt?: number | null
}

export interface LedgerInput {
  readonly requests: readonly SentRequest[]
  readonly messages: readonly ListedMessage[]
  readonly inbox: readonly DeliveredEntry[]
  readonly attempts?: readonly RecordedAttempt[]
}
