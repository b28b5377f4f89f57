import { Share } from '../../src/core/dispatch/workers/assignment.ts'
import type { ConnectionId, WorkerId } from '../../src/core/ids.ts'
import { HandClock } from '../conformance/hand-clock.ts'

/** The worker that takes the lane of this connection when all of `living` know each other. */
export function preferredWorker(id: ConnectionId, living: readonly WorkerId[]): WorkerId | null {
  const takesIt = (worker: WorkerId) => {
    const share = new Share({ worker, clock: new HandClock() })
    share.heed(living)
    return !share.isAnothers(id)
  }
  return living.find(takesIt) ?? null
}
