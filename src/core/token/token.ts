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

/** Of a token that was valid once, and no more when a request came with it. */
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

type DecidedRefusal = 'unauthorized' | 'event_missing' | 'connection_not_allowed' | 'connection_not_found'

/**
 * The last word on whether a request may make a message, said inside the accepting transaction (G7). Null: it may.
 * The order is the contract's: 401, 403, then 404.
 */
export function decideAcceptance(
  token: Token | null,
  connectionId: ConnectionId | null,
  now: Instant,
): DecidedRefusal | null {
  if (!token || !isUsable(token, now)) return 'unauthorized'
  if (!token.events.includes('messaging.send_message')) return 'event_missing'
  // A bound token learns nothing about numbers it is not bound to, not even whether they exist.
  if (token.connectionIds && (!connectionId || !token.connectionIds.includes(connectionId)))
    return 'connection_not_allowed'
  return connectionId ? null : 'connection_not_found'
}
