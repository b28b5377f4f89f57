import { StorageUnavailable } from '../../core/ports/lanes.ts'
import type { DeadlineQueue } from '../server/deadline-queue.ts'

/** The result of a look-up in storage. Rejects with StorageUnavailable when storage fails or does not answer in time. */
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
