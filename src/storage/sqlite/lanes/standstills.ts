import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import { RETRY_WITHIN_MS, SHORTEST_MS } from '../../queries/lanes/standstills.ts'

/** Whether the next wait of a lane for the same reason is the same wait. Otherwise messages went in between. */
export const GOES_ON = (at: string) =>
  `(wait_since is not null and (wait_until is null or wait_until >= ${at} - ${RETRY_WITHIN_MS}))`

/** Keeps what lanes have waited for, without the words of networks, which may name a person. Runs inside a transaction of the caller. */
export class Standstills {
  readonly #extend: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    const ended = `from lane where lane.connection_id = ?1 and wait_reason is not null and wait_reason <> 'all_deferred'
        and (wait_reason is not ?2 or not ${GOES_ON('?3')})`
    const until = 'min(?3, coalesce(wait_until, ?3))'
    // A lane with a pace waits after each message: that is one row.
    this.#extend = database.prepare(
      `update standstill set until = (select ${until} ${ended})
         where connection_id = ?1 and since = (select max(since) from standstill where connection_id = ?1)
           and exists (select 1 ${ended} and wait_reason = standstill.reason
             and standstill.until between wait_since - ${RETRY_WITHIN_MS} and ?3)`,
    )
    this.#note = database.prepare(
      `insert into standstill (connection_id, reason, since, until)
         select connection_id, wait_reason, wait_since, ${until} ${ended}
           and ${until} - wait_since >= ${SHORTEST_MS}
         on conflict do nothing`,
    )
  }

  /** Called before the lane's wait is replaced: `reason` is the new one. */
  noteWait(connectionId: ConnectionId, { reason, at }: { readonly reason: string | null; readonly at: Instant }): void {
    if (this.#extend.run(connectionId, reason, at).changes === 0) this.#note.run(connectionId, reason, at)
  }
}
