import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId } from '../../core/ids.ts'
import type { Sequence } from '../../core/message/message.ts'

// A crash leaves at most one run of settled entries at the front of a lane.
const FRONT = 256

/** Takes the entries of settled messages out of lanes. Runs inside a transaction of the caller. */
export class LaneTrim {
  readonly #through: StatementSync
  readonly #connections: StatementSync
  readonly #front: StatementSync

  constructor(database: DatabaseSync) {
    // An entry that went while its message waits would be a lost message: looked at twice rather than believed.
    const isSettled = `(select state from message where message.sequence = lane_entry.sequence) <> 'QUEUED'`
    this.#through = database.prepare(
      `delete from lane_entry where connection_id = ? and sequence <= ? and ${isSettled}`,
    )
    this.#front = database.prepare(
      `delete from lane_entry where connection_id = ?1 and ${isSettled} and sequence in
         (select sequence from lane_entry where connection_id = ?1 order by sequence limit ${FRONT})`,
    )
    this.#connections = database.prepare('select id from connection')
  }

  /** Up to and with this message. */
  through(connectionId: ConnectionId, sequence: Sequence): void {
    this.#through.run(connectionId, sequence)
  }

  /** What a crash left behind. */
  allFronts(): void {
    for (const { id } of this.#connections.all() as { id: ConnectionId }[]) this.#front.run(id)
  }
}
