import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { retryOnLockTimeout } from '../connection/retry-on-lock-timeout.ts'

// Each batch is a transaction of its own, and until its end nobody can hand over what is at the front of those lanes.
const AT_ONCE = 200

/** Settles what has outlived its lane's time to live, wherever it stands in the lane. Returns how many. */
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
