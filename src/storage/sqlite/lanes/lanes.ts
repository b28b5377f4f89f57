import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, Instant, WorkerId } from '../../../core/ids.ts'
import type { QueuedMessage, Sequence } from '../../../core/message/message.ts'
import type { Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { ClaimedLane, Lanes, LaneTransition, LaneTransitionResult } from '../../../core/ports/lanes.ts'
import type { Directory } from '../accept/directory.ts'
import type { WaitingCounts } from '../accept/waiting-counts.ts'
import type { GroupCommit } from '../connection/group-commit.ts'
import { LaneClaims } from './claim-lanes.ts'
import { BUSY_LANES, LaneTrim } from './lane-trim.ts'
import { QueuedMessages } from './queued-messages.ts'
import { ReceiptWriter } from './receipts.ts'
import { StepWriter } from './record-step.ts'
import { ServiceStops } from './service-stops.ts'
import type { UnindexedTail } from './unindexed-tail.ts'

interface LanesParts {
  readonly database: DatabaseSync
  readonly commits: GroupCommit
  readonly directory: Directory
  readonly counts: WaitingCounts
  readonly tail: UnindexedTail
  readonly clock: Clock
}

/** Dispatching on SQLite: the writes of all lanes in one turn of the event loop share one commit. */
export class SqliteLanes implements Lanes {
  readonly #commits: GroupCommit
  readonly #directory: Directory
  readonly #counts: WaitingCounts
  readonly #clock: Clock
  readonly #messages: QueuedMessages
  readonly #claims: LaneClaims
  readonly #steps: StepWriter
  readonly #expiry: ExpirySweep
  readonly #receipts: ReceiptWriter
  readonly #renewLease: StatementSync
  readonly #living: StatementSync
  readonly #deleteLease: StatementSync
  readonly #stops: ServiceStops

  constructor({ database, commits, directory, counts, tail, clock }: LanesParts) {
    const trim = new LaneTrim(database, tail)
    this.#commits = commits
    this.#directory = directory
    this.#counts = counts
    this.#clock = clock
    this.#messages = new QueuedMessages(database, tail)
    this.#claims = new LaneClaims(database, { directory, messages: this.#messages, tail })
    this.#steps = new StepWriter(database, { claims: this.#claims, directory, trim, messages: this.#messages })
    this.#expiry = new ExpirySweep(database, directory, trim)
    this.#receipts = new ReceiptWriter(database)
    this.#renewLease = database.prepare(
      'insert into worker (id, heartbeat_until) values (?, ?) on conflict (id) do update set heartbeat_until = excluded.heartbeat_until',
    )
    this.#living = database.prepare(`select id from worker where ${validLeaseSql('?1')}`)
    this.#deleteLease = database.prepare('delete from worker where id = ?')
    this.#stops = new ServiceStops(database)
  }

  heartbeat(worker: WorkerId, lastsMs: number): Promise<readonly WorkerId[]> {
    return this.#commits.submit(() => {
      const now = this.#clock.now()
      this.#stops.beforeHeartbeat(worker, now)
      this.#renewLease.run(worker, now + lastsMs)
      return (this.#living.all(now) as { id: WorkerId }[]).map(({ id }) => id)
    })
  }

  async deleteLease(worker: WorkerId): Promise<void> {
    await this.#commits.submit(() => {
      this.#deleteLease.run(worker)
      this.#stops.stopped(this.#clock.now())
    })
  }

  claim(request: Parameters<Lanes['claim']>[0]): Promise<readonly ClaimedLane[]> {
    return this.#commits.submit(() => this.#claims.claim(request, this.#clock.now()))
  }

  inspect(lane: { connectionId: ConnectionId; epoch: number }): Promise<ClaimedLane | null> {
    return this.#commits.submit(() => this.#claims.inspect(lane.connectionId, lane.epoch))
  }

  async release(lanes: Parameters<Lanes['release']>[0]): Promise<void> {
    await this.#commits.submit(() => this.#claims.release(lanes))
  }

  async fetchNext(connectionId: ConnectionId, limit: number, after: Sequence): Promise<readonly QueuedMessage[]> {
    return this.#messages.run(connectionId, limit, after)
  }

  async record(step: LaneTransition): Promise<LaneTransitionResult> {
    const { result, settled } = await this.#commits.submit(() => this.#steps.write(step))
    if (settled > 0) this.#counts.settled(step.connectionId, settled)
    return result
  }

  async expire(limit: number): Promise<number> {
    const expired = await this.#commits.submit(() => this.#expiry.sweep(this.#clock.now(), limit))
    for (const lane of expired) this.#counts.change(lane.connectionId, lane.accountId, -lane.count)
    return expired.reduce((sum, lane) => sum + lane.count, 0)
  }

  async applyReceipt(receipt: Receipt): Promise<ReceiptEnd> {
    const { end, wasWaiting } = await this.#commits.submit(() => this.#receipts.apply(receipt))
    if (wasWaiting) {
      this.#counts.settled(receipt.connectionId)
      this.#directory.laneChanged(receipt.connectionId)
    }
    return end
  }
}

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
 * What the message itself waited for is only in its `retry`, and its state does not show the end of its time if it may have
 * arrived. So both are stored in its timeline.
 *
 * Nothing expires while all lanes are held: waiting messages of an old state may have been sent, and a person must check (G12).
 */
class ExpirySweep {
  readonly #directory: Directory
  readonly #hold: StatementSync
  readonly #lanes: StatementSync
  readonly #due: StatementSync
  readonly #note: StatementSync
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
    this.#due = database.prepare(
      `select sequence from (
           ${WAITING('sequence, accepted_at')} where lane_entry.connection_id = ? and message.state = 'QUEUED'
             order by lane_entry.sequence limit ?)
         where accepted_at <= ? and sequence not in (select message_sequence from open_attempt)`,
    )
    // After an attempt with an unknown result the message may have arrived, so it does not become EXPIRED.
    const mayHaveArrived = `exists (select 1 from attempt where message_sequence = message.sequence and outcome = 'unknown')`
    const state = `case when ${mayHaveArrived} then 'UNCONFIRMED' else 'EXPIRED' end`
    // The end of the attempt before says why a retry waited.
    const own = (name: string) => `case when retry ->> '$.wait.kind' <> 'retry' then retry ->> '$.wait.${name}' end`
    this.#note = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, facts)
         select sequence, 1 + coalesce((select max(position) from timeline where message_sequence = message.sequence), 0), ?,
             'settled', 'time_to_live_over',
             json_patch('{}', json_object('state', ${state}, 'waitedFor', ${own('reason')},
               'waitedSince', ${own('since')}, 'waitedUntil', ${own('until')}))
           from message where sequence = ? and (${mayHaveArrived} or ${own('reason')} is not null)`,
    )
    this.#expire = database.prepare(
      `update message set settled_at = ?, retry = null, state = ${state},
           reason = case when ${mayHaveArrived} then 'result_unknown' else 'time_to_live_over' end
         where sequence = ?`,
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
      const gone = this.#due.all(lane.id, left, bornBefore) as { sequence: Sequence }[]
      const count = gone.length
      const sequences = gone.map(({ sequence }) => sequence)
      for (const sequence of sequences) {
        this.#note.run(now, sequence)
        this.#expire.run(now, sequence)
      }
      const [after, through] = [Math.min(...sequences) - 1, Math.max(...sequences)]
      if (count > 0) this.#trim.passed(lane.id, { after, through, deferred: [] })
      left -= count
      if (count > 0) expired.push({ connectionId: lane.id, accountId: connection.accountId, count })
    }
    return expired
  }
}
