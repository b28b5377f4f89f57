import { parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import { sessionAction } from '../../../core/connection/session-action.ts'
import { LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { ConnectionId, WorkerId } from '../../../core/ids.ts'
import {
  type ClaimedLane,
  type FailureStreak,
  type LaneMemory,
  type Lanes,
  type OpenAttempt,
  StorageUnavailable,
} from '../../../core/ports/lanes.ts'
import { Batcher, retryOnLockTimeout } from '../connection/batcher.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { DatabaseClock } from '../connection/database-clock.ts'
import { type PgConnection, type Row, StorageDamaged } from '../connection/pg-connection.ts'
import type { QueuedMessages } from './queued-messages.ts'

const LANES_AT_ONCE = 1_000
const FREE_LANES_FRESH_MS = 1_000

interface HeldLane {
  readonly connectionId: ConnectionId
  readonly epoch: number
}

interface FreeLanes {
  readonly worker: WorkerId
  /** Not claimed yet. */
  readonly free: ConnectionId[]
  readonly atMonotonic: number
}

interface ClaimParts {
  readonly pgConnection: PgConnection
  readonly clock: DatabaseClock
  readonly messages: QueuedMessages
}

/** Claims and releases lanes. */
export class LaneClaims {
  readonly #parts: ClaimParts
  readonly #inspections: Batcher<HeldLane, ClaimedLane | null>
  readonly #releases: Batcher<HeldLane, boolean>
  #lastFree: FreeLanes | null = null

  constructor(parts: ClaimParts) {
    this.#parts = parts
    const shared = { concurrency: 1, mostPerBatch: LANES_AT_ONCE }
    this.#inspections = new Batcher({ ...shared, run: (lanes) => this.#inspect(lanes) })
    this.#releases = new Batcher({ ...shared, run: (lanes) => this.#release(lanes) })
  }

  async claim(request: Parameters<Lanes['claim']>[0]): Promise<readonly ClaimedLane[]> {
    const { worker, only, held, shouldDefer: leave, limit } = request
    const wanted = only?.filter((id) => !held.has(id)) ?? null
    if (wanted?.length === 0) return []
    const claimed = new Map<ConnectionId, ClaimedLane>()
    let failure: StorageUnavailable | null = null
    try {
      // Peers may have claimed some of these lanes meanwhile, so there may be room for more of them.
      for await (const free of this.#findFree(worker, wanted)) {
        while (claimed.size < limit) {
          const chosen: ConnectionId[] = []
          for (let id = free.pop(); id !== undefined; id = free.pop()) {
            if (!held.has(id) && !claimed.has(id) && !leave(id)) chosen.push(id)
            if (chosen.length + claimed.size === limit) break
          }
          if (chosen.length === 0) break
          failure = (await this.#takeInto(claimed, worker, chosen)) ?? failure
        }
        if (claimed.size === limit) break
      }
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error
      failure = error
    }
    // What was claimed must be returned: a claimed lane that the dispatcher does not know would count as a crash of its attempt.
    if (claimed.size === 0 && failure) throw failure
    return [...claimed.values()]
  }

  /** Calls of one turn share a statement. Null when the claim has been taken over. */
  inspect({ connectionId, epoch }: HeldLane): Promise<ClaimedLane | null> {
    return this.#inspections.submit({ connectionId, epoch })
  }

  async release(lanes: readonly HeldLane[]): Promise<void> {
    await Promise.all(lanes.map((lane) => this.#releases.submit(lane)))
  }

  /**
   * Lanes that are free, to be taken from the end. When a worker with ten thousand of them dies, others take them in many
   * batches, and one query of the free lanes serves for all of them.
   */
  async *#findFree(worker: WorkerId, only: readonly ConnectionId[] | null): AsyncGenerator<ConnectionId[]> {
    const { clock } = this.#parts
    const last = this.#lastFree
    if (only === null && last?.worker === worker && clock.monotonic() - last.atMonotonic < FREE_LANES_FRESH_MS)
      yield last.free
    const free = await this.#freeLanes(worker, only)
    if (only === null) this.#lastFree = { worker, free, atMonotonic: clock.monotonic() }
    yield free
  }

  async #freeLanes(worker: WorkerId, only: readonly ConnectionId[] | null): Promise<ConnectionId[]> {
    const { pgConnection } = this.#parts
    const asked = [worker, only && textArray(only)]
    const [row] = await pgConnection.query(
      'select free_lanes($1, $2, $3, $4) as free',
      [...asked, ...this.#trust()],
      'prepared',
    )
    const free = row?.['free'] as string
    return free === '' ? [] : (free.split(',') as ConnectionId[]).reverse()
  }

  /** A lane that cannot be read does not stop the claim of others. Returns its error, or null. */
  async #takeInto(
    claimed: Map<ConnectionId, ClaimedLane>,
    worker: WorkerId,
    ids: readonly ConnectionId[],
  ): Promise<StorageDamaged | null> {
    try {
      for (const lane of await this.#take(worker, ids)) claimed.set(lane.connectionId, lane)
      return null
    } catch (error) {
      if (!(error instanceof StorageDamaged)) throw error
      if (ids.length === 1) return error
      const middle = ids.length >> 1
      const first = await this.#takeInto(claimed, worker, ids.slice(0, middle))
      return (await this.#takeInto(claimed, worker, ids.slice(middle))) ?? first
    }
  }

  async #take(worker: WorkerId, ids: readonly ConnectionId[]): Promise<readonly ClaimedLane[]> {
    const { pgConnection, clock } = this.#parts
    const rows = await retryOnLockTimeout(async () => {
      const asked = clock.monotonic()
      const taken = await pgConnection.query('select *, now_ms() as now from claim_lanes($1, $2, $3, $4)', [
        worker,
        textArray(ids),
        ...this.#trust(),
      ])
      // What begins on them now begins after what others have ended there, whatever the clocks say.
      if (taken[0]) clock.learn(taken[0]['now'] as number, asked)
      return taken
    })
    return rows.map((row) => this.#toLane(row))
  }

  /**
   * The time that we expect, and whether the clock jumped lately. After a jump of the clock the heartbeats of others may only
   * seem to have expired, until each worker has renewed its own.
   */
  #trust(): readonly [number | null, boolean] {
    const { clock } = this.#parts
    return [clock.expected, clock.hasJumped(LEASE_MS)]
  }

  async #inspect(lanes: readonly HeldLane[]): Promise<readonly (ClaimedLane | null)[]> {
    const rows = await this.#parts.pgConnection.query('select * from describe_lanes($1, $2)', idsAndEpochs(lanes))
    const found = new Map(rows.map((row) => this.#toLane(row)).map((lane) => [keyOf(lane), lane]))
    return lanes.map((lane) => found.get(keyOf(lane)) ?? null)
  }

  async #release(lanes: readonly HeldLane[]): Promise<readonly boolean[]> {
    await this.#parts.pgConnection.query('select release_lanes($1, $2)', idsAndEpochs(lanes))
    return lanes.map(() => true)
  }

  #toLane(row: Row): ClaimedLane {
    const connectionId = row['connection_id'] as ConnectionId
    const state = row['state'] as Parameters<typeof sessionAction>[0]
    const allHeld = row['all_held'] as boolean
    return {
      connectionId,
      accountId: row['account_id'] as ClaimedLane['accountId'],
      number: row['number'] as string,
      channel: row['channel'] as string,
      channelSettings: JSON.parse(row['channel_settings'] as string) as ClaimedLane['channelSettings'],
      policy: parseLanePolicy(row['policy'] as string),
      epoch: row['epoch'] as number,
      mayOpen: state === 'active' && !allHeld,
      session: sessionAction(state, allHeld),
      sessionRequest: row['session_request'] as string | null,
      memory: toMemory(row),
      lastAttemptAt: row['last_attempt_at'] as number | null,
      open: row['sequence'] === null ? null : this.#toOpenAttempt(connectionId, row),
    }
  }

  #toOpenAttempt(connectionId: ConnectionId, row: Row): OpenAttempt {
    return {
      message: this.#parts.messages.toMessage(connectionId, row),
      number: row['open_number'] as number,
      startedAt: row['open_started_at'] as number,
      crashes: row['open_crashes'] as number,
      evidenceUntil: row['open_evidence_until'] as number | null,
      isPossiblySuperseded: row['open_possibly_superseded'] as boolean,
    }
  }
}

function keyOf({ connectionId, epoch }: HeldLane): string {
  return `${connectionId} ${epoch}`
}

function idsAndEpochs(lanes: readonly HeldLane[]): [Buffer, Buffer] {
  return [textArray(lanes.map(({ connectionId }) => connectionId)), bigintArray(lanes.map(({ epoch }) => epoch))]
}

function toMemory(row: Row): LaneMemory {
  const [error, reason] = [row['failure_streak'], row['wait_reason']]
  return {
    failureStreak: typeof error === 'string' ? (JSON.parse(error) as FailureStreak) : null,
    wait:
      typeof reason === 'string'
        ? { reason, words: row['wait_words'] as string | null, until: row['wait_until'] as number | null }
        : null,
  }
}
