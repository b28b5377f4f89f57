import { StorageUnavailable } from '../../core/ports/lanes.ts'
import type { DeadlineQueue } from '../server/deadline-queue.ts'

/** The answer of storage to a look-up. Rejects with StorageUnavailable too when it has kept silent for too long. */
export function awaitLookUp<Answer>(deadlines: DeadlineQueue, lookUp: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const waiting = {
      onDeadline: () => reject(new StorageUnavailable('Storage did not answer a look-up in time', false)),
    }
    const ticket = deadlines.add(waiting)
    const end = () => deadlines.remove(ticket, waiting)
    lookUp.finally(end).then(resolve, reject)
  })
}
