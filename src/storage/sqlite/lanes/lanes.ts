import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { ConnectionId, WorkerId } from '../../../core/ids.ts'
import type { QueuedMessage, Sequence } from '../../../core/message/message.ts'
import type { Receipt } from '../../../core/ports/channel.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { ClaimedLane, Lanes, LaneTransition, LaneTransitionResult } from '../../../core/ports/lanes.ts'
import type { Directory } from '../accept/directory.ts'
import type { WaitingCounts } from '../accept/waiting-counts.ts'
import type { GroupCommit } from '../connection/group-commit.ts'
import { ExpirySweep } from '../retention/expiry-sweep.ts'
import { LaneClaims } from './claim-lanes.ts'
import { LaneTrim } from './lane-trim.ts'
import { QueuedMessages } from './queued-messages.ts'
import { ReceiptWriter } from './receipts.ts'
import { StepWriter } from './record-step.ts'
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
  }

  heartbeat(worker: WorkerId, lastsMs: number): Promise<readonly WorkerId[]> {
    return this.#commits.submit(() => {
      const now = this.#clock.now()
      this.#renewLease.run(worker, now + lastsMs)
      return (this.#living.all(now) as { id: WorkerId }[]).map(({ id }) => id)
    })
  }

  async deleteLease(worker: WorkerId): Promise<void> {
    await this.#commits.submit(() => this.#deleteLease.run(worker))
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

  async applyReceipt(receipt: Receipt): Promise<'applied' | 'too-early' | 'message-unknown'> {
    const { end, wasWaiting } = await this.#commits.submit(() => this.#receipts.apply(receipt))
    if (wasWaiting) {
      this.#counts.settled(receipt.connectionId)
      this.#directory.laneChanged(receipt.connectionId)
    }
    return end
  }
}
