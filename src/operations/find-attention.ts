import type { AccountId, Instant } from '../core/ids.ts'
import type { UnresolvedFacts } from '../core/message/resend-facts.ts'
import type { Administration, ConnectionView, HoldView, MessageView, TokenView } from '../core/ports/administration.ts'
import type { LaneViews } from '../core/ports/console/lanes.ts'

// Time enough to hand a new token to everybody who uses the old one.
const EXPIRES_SOON_MS = 14 * 86_400_000

/** Everything that needs attention. */
export interface Attention {
  readonly hold: HoldView | null
  /** Messages of which it is unknown whether they arrived. */
  readonly unconfirmed: readonly (MessageView & UnresolvedFacts)[]
  /** Those whose lanes stand still. Where each message waits for something of its own, the reason is that of the oldest. */
  readonly status: readonly ConnectionView[]
  /** Those that are about to expire. */
  readonly tokens: readonly TokenView[]
}

interface AttentionSources {
  readonly administration: Administration
  readonly lanes: LaneViews
}

/** Of one account, or of all where it is null. */
export async function findAttention(
  { administration, lanes }: AttentionSources,
  accountId: AccountId | null,
  now: Instant,
): Promise<Attention> {
  return {
    hold: await administration.readHold(),
    unconfirmed: await administration.listUnresolved(accountId),
    status: await findStatus({ administration, lanes }, accountId),
    tokens: (await administration.listTokens(accountId)).filter((token) => expiresSoon(token, now)),
  }
}

async function findStatus(
  { administration, lanes }: AttentionSources,
  accountId: AccountId | null,
): Promise<readonly ConnectionView[]> {
  const status: ConnectionView[] = []
  // One after the other: all at once would wait too long for a connection of the database.
  for (const lane of await administration.listConnections(accountId))
    if (standsStill(lane)) status.push(lane.reason === 'all_deferred' ? await withOldestWait(lanes, lane) : lane)
  return status
}

/** Why the oldest message waits, and when the first of them goes on. */
async function withOldestWait(lanes: LaneViews, lane: ConnectionView): Promise<ConnectionView> {
  const wait = await lanes.findOldestWait(lane)
  return wait ? { ...lane, reason: wait.reason, reasonWords: wait.words, reasonUntil: wait.until } : lane
}

function standsStill(connection: ConnectionView): boolean {
  const isAsItsOwnerSetIt = connection.reason === 'pace' || connection.reason === 'quiet_hours'
  return connection.waiting > 0 && connection.reason !== null && !isAsItsOwnerSetIt
}

function expiresSoon({ deletedAt, expiresAt }: TokenView, now: number): boolean {
  return deletedAt === null && expiresAt > now && expiresAt - now <= EXPIRES_SOON_MS
}
