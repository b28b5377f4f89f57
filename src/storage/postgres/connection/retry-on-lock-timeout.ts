import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { StatementRefused } from './pg-connection.ts'

const TRIES = 3

/** Repeats a query that timed out waiting for a lock: nothing was written then. */
export async function retryOnLockTimeout<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StatementRefused && error.kind === 'contended')) throw error
      if (tries === TRIES) throw new StorageUnavailable('another transaction holds a lock', false, { cause: error })
    }
  }
}
