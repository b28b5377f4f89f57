import type { AccountId, ConnectionId, Instant, TokenId } from '../ids.ts'

/** Every event a token may carry, with the words people see. */
export const TOKEN_EVENTS = {
  'messaging.send_message': 'Messaging > Send Message',
} as const
export type TokenEvent = keyof typeof TOKEN_EVENTS
export const TOKEN_EVENT_NAMES = Object.keys(TOKEN_EVENTS) as readonly TokenEvent[]

export interface Token {
  readonly id: TokenId
  readonly accountId: AccountId
  readonly events: readonly TokenEvent[]
  readonly expiresAt: Instant
  /** Null while it has not been deleted. */
  readonly deletedAt: Instant | null
  /** Connections it is bound to; null means all of its account. */
  readonly connectionIds: readonly ConnectionId[] | null
  /** CIDR ranges it may be used from; null means from anywhere. */
  readonly sourceRanges: readonly string[] | null
}

export function isUsable(token: Token, now: Instant): boolean {
  return token.deletedAt === null && now < token.expiresAt
}
