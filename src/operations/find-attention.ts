import type { AccountId, Instant } from '../core/ids.ts'
import type { Administration, ConnectionView, HoldView, MessageView, TokenView } from '../core/ports/administration.ts'

// Time enough to hand a new token to everybody who uses the old one.
const EXPIRES_SOON_MS = 14 * 86_400_000

/** Everything that needs attention. */
export interface Attention {
  readonly hold: HoldView | null
  /** Messages of which it is unknown whether they arrived. */
  readonly unconfirmed: readonly MessageView[]
  /** Those whose lanes stand still. */
  readonly status: readonly ConnectionView[]
  /** Those that are about to expire. */
  readonly tokens: readonly TokenView[]
}

/** Of one account, or of all where it is null. */
export async function findAttention(
  administration: Administration,
  accountId: AccountId | null,
  now: Instant,
): Promise<Attention> {
  return {
    hold: await administration.readHold(),
    unconfirmed: await administration.listUnresolved(accountId),
    status: (await administration.listConnections(accountId)).filter(standsStill),
    tokens: (await administration.listTokens(accountId)).filter((token) => expiresSoon(token, now)),
  }
}

function standsStill(connection: ConnectionView): boolean {
  const isAsItsOwnerSetIt = connection.reason === 'pace' || connection.reason === 'quiet_hours'
  return connection.waiting > 0 && connection.reason !== null && !isAsItsOwnerSetIt
}

function expiresSoon({ deletedAt, expiresAt }: TokenView, now: number): boolean {
  return deletedAt === null && expiresAt > now && expiresAt - now <= EXPIRES_SOON_MS
}
