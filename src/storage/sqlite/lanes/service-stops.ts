import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { LEASE_MS, LONGEST_LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { Instant, WorkerId } from '../../../core/ids.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { ALL_LANES } from '../../queries/lanes/standstills.ts'

const REASON: ReasonCode = 'service_stopped'
const DISPATCHES = `(roles is null or ',' || roles || ',' like '%,dispatch,%')`

/** Keeps when nothing could be sent because no process ran. Runs inside a transaction of the caller. */
export class ServiceStops {
  readonly #begin: StatementSync
  readonly #end: StatementSync
  readonly #lastSign: StatementSync
  readonly #own: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    const values = 'insert into standstill (connection_id, reason, since, until, words) values'
    this.#begin = database.prepare(`${values} ('${ALL_LANES}', '${REASON}', ?, null, 'stopped') on conflict do nothing`)
    this.#end = database.prepare(
      `update standstill set until = ? where connection_id = '${ALL_LANES}' and reason = '${REASON}' and until is null`,
    )
    this.#note = database.prepare(`${values} ('${ALL_LANES}', '${REASON}', ?, ?, ?) on conflict do nothing`)
    this.#lastSign = database.prepare(
      `select max(heartbeat_until) as until from worker
         where ${DISPATCHES} and coalesce(started_at, 0) < heartbeat_until and heartbeat_until <= ? + ${LONGEST_LEASE_MS}`,
    )
    this.#own = database.prepare(
      'select heartbeat_until as until from worker where id = ? and coalesce(started_at, 0) < heartbeat_until',
    )
  }

  /** The process stops as it should. */
  stopped(at: Instant): void {
    this.#begin.run(at)
  }

  /** Only one process serves. If the one before did not stop by itself, it was killed after its last heartbeat. */
  started(at: Instant): void {
    const { until } = this.#lastSign.get(at) as { until: Instant | null }
    if (this.#end.run(at).changes === 0 && until !== null) this.#note.run(until - LEASE_MS, at, 'killed')
  }

  /**
   * The first heartbeat of a process ends the stop. Before a later one, an expired lease shows that this process stood still.
   */
  beforeHeartbeat(worker: WorkerId, at: Instant): void {
    const own = this.#own.get(worker) as { until: Instant } | undefined
    if (!own) this.#end.run(at)
    else if (own.until < at) this.#note.run(own.until - LEASE_MS, at, 'frozen')
  }
}
