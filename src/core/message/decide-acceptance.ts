import type { ConnectionId, Instant } from '../ids.ts'
import { isUsable, type Token } from '../token/token.ts'

type DecidedRefusal = 'unauthorized' | 'event_missing' | 'connection_not_allowed' | 'connection_not_found'

/**
 * Decides inside the accepting transaction whether a request may make a message (G7). Null: it may. The order is the
 * contract's: 401, 403, then 404.
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
