import type { DatabaseSync } from 'node:sqlite'
import type { ConnectionId, MessageId } from '../../src/core/ids.ts'
import type { NetworkCall } from './simulated-network.ts'
import type { Trace } from './trace.ts'

// A decision is written a moment later.
const MARGIN_MS = 1_000

interface Facts {
  readonly allowedMs: number
  readonly startedAt: number
  readonly acceptedAt: number
  readonly movedAt: number | null
  readonly plannedUntil: number | null
}

// Computed from what was written and when, independently of `wantsConfirmation`.
const FACTS = `select json_extract(c.policy, '$.confirmBacklogAfterMs') as allowedMs, o.started_at as startedAt,
    m.accepted_at as acceptedAt,
    (select max(a.started_at) from attempt a join message s on s.sequence = a.message_sequence where s.connection_id = c.id) as movedAt,
    (select p.until from planned p where p.connection_id = c.id) as plannedUntil
  from open_attempt o join connection c on c.id = o.connection_id join message m on m.sequence = o.message_sequence
  where o.connection_id = ?`

/** Checks that an old backlog is not sent before a person has confirmed it. */
export class BacklogReferee {
  /** A worker with a wrong clock computes another age. */
  clocksJumped = false
  readonly #facts: ReturnType<DatabaseSync['prepare']>
  readonly #trace: Trace
  readonly #nameOf: (id: MessageId) => string
  readonly #confirmedAt = new Map<ConnectionId, number>()

  constructor({ database, trace, nameOf }: BacklogRefereeParts) {
    // Keeps the latest time until which a lane had planned to wait: such a wait counts as movement.
    database.exec(`
      create table planned (connection_id text primary key, until integer not null);
      create trigger note_planned after update of wait_until on lane when new.wait_until is not null begin
        insert into planned values (new.connection_id, new.wait_until)
          on conflict (connection_id) do update set until = max(until, excluded.until);
      end;`)
    this.#facts = database.prepare(FACTS)
    this.#trace = trace
    this.#nameOf = nameOf
  }

  onConfirmed(id: ConnectionId, at: number): void {
    this.#confirmedAt.set(id, at)
  }

  onCall({ handover: { connectionId, messageId } }: NetworkCall): void {
    const facts = this.#facts.get(connectionId) as Facts | undefined
    if (this.clocksJumped || !facts || facts.allowedMs === 0) return
    const { startedAt, acceptedAt, movedAt, plannedUntil, allowedMs } = facts
    const since = Math.max(acceptedAt, movedAt ?? 0, plannedUntil ?? 0, this.#confirmedAt.get(connectionId) ?? 0)
    if (startedAt - since > allowedMs + MARGIN_MS)
      this.#trace.violate(
        'an old backlog is asked about',
        `${this.#nameOf(messageId)} of ${connectionId} goes out after ${startedAt - since} ms, without confirmation`,
      )
  }
}

interface BacklogRefereeParts {
  readonly database: DatabaseSync
  readonly trace: Trace
  readonly nameOf: (id: MessageId) => string
}
