import { RendezvousAssignment } from '../../src/core/dispatch/workers/assignment.ts'
import type { ConnectionId, WorkerId } from '../../src/core/ids.ts'
import { HandClock } from '../conformance/hand-clock.ts'

/** The worker that takes the lane of this connection when all in `living` know each other. */
export function preferredWorker(id: ConnectionId, living: readonly WorkerId[]): WorkerId | null {
  const takesIt = (worker: WorkerId) => {
    const share = new RendezvousAssignment({ worker, clock: new HandClock() })
    share.updateMembers(living)
    return !share.belongsToPeer(id)
  }
  return living.find(takesIt) ?? null
}
