import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import { LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { ConnectionId, SpoolId, WorkerId } from '../../../core/ids.ts'
import type { QueuedMessage, Sequence } from '../../../core/message/message.ts'
import type { Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'
import {
  type ClaimedLane,
  type Lanes,
  type LaneTransition,
  type LaneTransitionResult,
  StorageUnavailable,
} from '../../../core/ports/lanes.ts'
import { toWorkerRow, type WorkerFacts } from '../../queries/lanes/workers.ts'
import type { StorageHealth } from '../../queries/storage-health.ts'
import { retryOnLockTimeout } from '../connection/batcher.ts'
import type { DatabaseClock } from '../connection/database-clock.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { LaneClaims } from './claim-lanes.ts'
import { QueuedMessages } from './queued-messages.ts'
import { ReceiptWriter } from './receipts.ts'
import { StepWriter } from './record-step.ts'

// Each batch is one transaction, and until its end no attempt can begin at the heads of those lanes.
const AT_ONCE = 200

interface LanesParts {
  /** For steps. Each carries one batch at a time. */
  readonly connections: readonly FencedConnection[]
  /** For reading queued messages. Each carries one batch at a time. */
  readonly runs: readonly PgConnection[]
  /** For everything else. */
  readonly claims: PgConnection
  /** Only for the heartbeat: behind a slow statement it would come too late, and the worker would lose its lanes. */
  readonly beats: PgConnection
  readonly health: StorageHealth
  readonly worker: WorkerFacts
  /** Where the files lie that this process can read. */
  readonly spool: SpoolId
  /** Learns the time of the database with each heartbeat. */
  readonly clock: DatabaseClock
}

/** Dispatching on PostgreSQL: what all lanes do in one turn of the event loop shares one commit. */
export class PostgresLanes implements Lanes {
  readonly #parts: LanesParts
  readonly #messages: QueuedMessages
  readonly #claims: LaneClaims
  readonly #steps: StepWriter
  readonly #receipts: ReceiptWriter

  constructor(parts: LanesParts) {
    const { connections, runs, claims: pgConnection, spool, clock } = parts
    this.#parts = parts
    this.#messages = new QueuedMessages(runs, spool)
    this.#claims = new LaneClaims({ pgConnection, clock, messages: this.#messages })
    this.#steps = new StepWriter(connections)
    this.#receipts = new ReceiptWriter(pgConnection)
  }

  async heartbeat(worker: WorkerId, lastsMs: number): Promise<readonly WorkerId[]> {
    const { beats: pgConnection, clock, worker: facts, spool } = this.#parts
    const { host, pid, roles, version } = toWorkerRow(facts)
    const asked = clock.monotonic()
    const values = [worker, lastsMs, host, pid, roles, version, spool]
    const [row] = await this.#written(() =>
      pgConnection.query('select * from renew_lease($1, $2, $3, $4, $5, $6, $7)', values),
    )
    clock.learn(row?.['now'] as number, asked)
    return row?.['living'] as WorkerId[]
  }

  /** Every process makes this write every few seconds, so it shows whether the database can be written. */
  async #written<Result>(write: () => Promise<Result>): Promise<Result> {
    const { health } = this.#parts
    try {
      const result = await retryOnLockTimeout(write)
      health.wrote()
      return result
    } catch (error) {
      if (error instanceof StorageUnavailable) health.failed(error)
      throw error
    }
  }

  /** Renews the lease of a process without a dispatcher, or whose dispatcher does not renew it. */
  async renewLease(): Promise<void> {
    await this.heartbeat(this.#parts.worker.id, LEASE_MS)
  }

  async deleteLease(worker: WorkerId): Promise<void> {
    await retryOnLockTimeout(() => this.#parts.claims.query('select end_lease($1)', [worker]))
  }

  claim(request: Parameters<Lanes['claim']>[0]): Promise<readonly ClaimedLane[]> {
    return this.#claims.claim(request)
  }

  inspect(lane: { connectionId: ConnectionId; epoch: number }): Promise<ClaimedLane | null> {
    return this.#claims.inspect(lane)
  }

  release(lanes: Parameters<Lanes['release']>[0]): Promise<void> {
    return this.#claims.release(lanes)
  }

  fetchNext(connectionId: ConnectionId, limit: number, after: Sequence): Promise<readonly QueuedMessage[]> {
    return this.#messages.run(connectionId, limit, after)
  }

  record(step: LaneTransition): Promise<LaneTransitionResult> {
    return this.#steps.write(step)
  }

  expire(limit: number): Promise<number> {
    return sweepExpired(this.#parts.claims, limit)
  }

  applyReceipt(receipt: Receipt): Promise<ReceiptEnd> {
    return this.#receipts.apply(receipt)
  }
}

/** Finishes messages that are older than the time to live of their lane. Returns how many. */
async function sweepExpired(pgConnection: PgConnection, limit: number): Promise<number> {
  let expired = 0
  while (expired < limit) {
    const most = Math.min(AT_ONCE, limit - expired)
    const [row] = await retryOnLockTimeout(() =>
      pgConnection.query('select expire_messages($1, $2) as count', [most, DEFAULT_LANE_POLICY.timeToLiveMs]),
    )
    const count = row?.['count'] as number
    expired += count
    if (count < most) break
  }
  return expired
}
