import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { retryOnLockTimeout } from '../connection/retry-on-lock-timeout.ts'

// Each batch is one transaction, and until its end no attempt can begin at the heads of those lanes.
const AT_ONCE = 200

/** Finishes messages that are older than the time to live of their lane. Returns how many. */
export async function sweepExpired(link: PgConnection, limit: number): Promise<number> {
  let expired = 0
  while (expired < limit) {
    const most = Math.min(AT_ONCE, limit - expired)
    const [row] = await retryOnLockTimeout(() =>
      link.ask('select expire_messages($1, $2) as count', [most, DEFAULT_LANE_POLICY.timeToLiveMs]),
    )
    const count = row?.['count'] as number
    expired += count
    if (count < most) break
  }
  return expired
}
