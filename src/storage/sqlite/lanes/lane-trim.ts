import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId } from '../../../core/ids.ts'
import type { PassedRange } from '../../../core/ports/lanes.ts'
import type { UnindexedTail } from './unindexed-tail.ts'

/** Jumps from lane to lane, so that a million messages in a lane cost no more than one. A select from `busy` must follow. */
export const BUSY_LANES = `with recursive busy (id) as (
  select (select connection_id from lane_entry order by connection_id limit 1)
  union all
  select (select connection_id from lane_entry where connection_id > busy.id order by connection_id limit 1)
    from busy where busy.id is not null)`

// A crash leaves at most one run of settled entries at the front of a lane.
const FRONT = 256

/** Deletes the entries of finished messages from lanes. Runs inside a transaction of the caller. */
export class LaneTrim {
  readonly #range: StatementSync
  readonly #connections: StatementSync
  readonly #front: StatementSync
  readonly #tail: UnindexedTail

  constructor(database: DatabaseSync, tail: UnindexedTail) {
    this.#tail = tail
    // An entry that is deleted while its message waits would be a lost message, so the state is checked again here.
    const isSettled = `(select state from message where message.sequence = lane_entry.sequence) <> 'QUEUED'`
    this.#range = database.prepare(
      `delete from lane_entry where connection_id = ? and sequence > ? and sequence <= ? and ${isSettled}`,
    )
    this.#front = database.prepare(
      `delete from lane_entry where connection_id = ?1 and ${isSettled} and sequence in
         (select sequence from lane_entry where connection_id = ?1 order by sequence limit ${FRONT})`,
    )
    this.#connections = database.prepare(`${BUSY_LANES} select id from busy where id is not null`)
  }

  /** Never below the range, where deferred messages would be read again each time. */
  passed(connectionId: ConnectionId, range: PassedRange): void {
    this.#range.run(connectionId, range.after, range.through)
    this.#tail.passed(connectionId, range)
  }

  /** Entries that a crash left behind. */
  allFronts(): void {
    for (const { id } of this.#connections.all() as { id: ConnectionId }[]) this.#front.run(id)
  }
}
