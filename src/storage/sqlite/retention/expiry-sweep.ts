import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { Directory } from '../accept/directory.ts'
import { BUSY_LANES, type LaneTrim } from '../lanes/lane-trim.ts'

const WAITING = (columns: string) =>
  `select ${columns
    .split(', ')
    .map((column) => `message.${column}`)
    .join(', ')} from lane_entry cross join message on message.sequence = lane_entry.sequence`

/**
 * Settles messages that have outlived the time to live of their lane. The time to live belongs to the
 * connection and not to the message, so changing it works at once, and each lane's oldest message expires first: the
 * sweep reads a lane from its front and stops at the first message that has not expired. A message without an entry is too young.
 *
 * Nothing expires while all lanes are held: waiting messages of an old state may have been sent, and a person must check (G12).
 */
export class ExpirySweep {
  readonly #directory: Directory
  readonly #hold: StatementSync
  readonly #lanes: StatementSync
  readonly #expire: StatementSync
  readonly #trim: LaneTrim

  constructor(database: DatabaseSync, directory: Directory, trim: LaneTrim) {
    this.#directory = directory
    this.#trim = trim
    this.#hold = database.prepare('select 1 from hold')
    this.#lanes = database.prepare(
      `${BUSY_LANES}
       select busy.id, (${WAITING('accepted_at')} where lane_entry.connection_id = busy.id and message.state = 'QUEUED'
           order by lane_entry.sequence limit 1) as oldest
         from busy where busy.id is not null`,
    )
    // After an attempt with an unknown result the message may have arrived, so it does not become EXPIRED.
    const mayHaveArrived = `exists (select 1 from attempt where message_sequence = message.sequence and outcome = 'unknown')`
    this.#expire = database.prepare(
      `update message set settled_at = ?, retry = null,
           state = case when ${mayHaveArrived} then 'UNCONFIRMED' else 'EXPIRED' end,
           reason = case when ${mayHaveArrived} then 'result_unknown' else 'time_to_live_over' end
         where sequence in (
           select sequence from (
             ${WAITING('sequence, accepted_at')} where lane_entry.connection_id = ? and message.state = 'QUEUED'
               order by lane_entry.sequence limit ?)
           where accepted_at <= ? and sequence not in (select message_sequence from open_attempt))
         returning sequence`,
    )
  }

  sweep(now: Instant, limit: number): { connectionId: ConnectionId; accountId: AccountId; count: number }[] {
    const expired: { connectionId: ConnectionId; accountId: AccountId; count: number }[] = []
    if (this.#hold.get() !== undefined) return expired
    let left = limit
    for (const lane of this.#lanes.all() as { id: ConnectionId; oldest: number | null }[]) {
      const connection = this.#directory.connectionById(lane.id)
      if (!connection || left <= 0) continue
      const bornBefore = now - connection.policy.timeToLiveMs
      if (lane.oldest === null || lane.oldest > bornBefore) continue
      const gone = this.#expire.all(now, lane.id, left, bornBefore) as { sequence: Sequence }[]
      const count = gone.length
      const sequences = gone.map(({ sequence }) => sequence)
      const [after, through] = [Math.min(...sequences) - 1, Math.max(...sequences)]
      if (count > 0) this.#trim.passed(lane.id, { after, through, deferred: [] })
      left -= count
      if (count > 0) expired.push({ connectionId: lane.id, accountId: connection.accountId, count })
    }
    return expired
  }
}
