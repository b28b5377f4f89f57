import { instantText } from '../../format/instants.ts'
import { nameActor } from '../../format/name-actor.ts'
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

/** A token that was valid once, but not when a request came with it. */
export interface EndedToken {
  readonly name: string
  readonly how: 'deleted' | 'replaced' | 'expired'
  readonly at: Instant
  /** Who did it; null where no person did, or the audit log no longer has it. */
  readonly by: string | null
}

/** Why a request was refused whose token had ended, with what to do. The caller gets less detail. */
export function explainEndedToken({ name, how, at, by }: EndedToken): string {
  const when = instantText(at)
  const who = by === null ? '' : ` by ${nameActor(by)}`
  if (how === 'deleted') return `The token “${name}” was deleted${who} on ${when}. Give the caller a valid token.`
  if (how === 'expired') return `The token “${name}” expired on ${when}. Create a new one, and give it to the caller.`
  return `The token “${name}” was replaced${who}; the old one ended on ${when}. Give the caller the new token.`
}

export function isUsable(token: Token, now: Instant): boolean {
  return token.deletedAt === null && now < token.expiresAt
}
