import type { Instant } from '../ids.ts'

/** What decides whether a message can be sent again. */
export interface ResendFacts {
  /** Its connection exists, or was removed and its number was added again. */
  readonly hasConnection: boolean
  /** When its content was deleted after its retention time; null while it exists. */
  readonly bodyDeletedAt: Instant | null
  /** Its recipient is on the block list of the account. */
  readonly isBlocked: boolean
}

/** Facts of a message that may have arrived or not, as long as no person has decided. */
export interface UnresolvedFacts extends ResendFacts {
  readonly channel: string
  /** What was said when its result became unknown. */
  readonly words: string | null
}
