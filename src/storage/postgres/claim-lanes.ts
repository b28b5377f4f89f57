import { DEFAULT_LANE_POLICY, type LanePolicy } from '../../core/connection/lane-policy.ts'
import { CLAIM_LASTS_MS } from '../../core/dispatch/worker-claim.ts'
import type { ConnectionId, WorkerId } from '../../core/ids.ts'
import type { ClaimedLane, HeadMemory, LaneMemory, Lanes, OpenAttempt, TroubleMemory } from '../../core/ports/lanes.ts'
import { Batches } from './batches.ts'
import { bigintArray, textArray } from './binary-arrays.ts'
import type { DatabaseClock } from './database-clock.ts'
import { insist } from './insist.ts'
import type { KnownLanes } from './known-lanes.ts'
import type { Link, Row } from './link.ts'
import type { QueuedMessages } from './queued-messages.ts'

const LANES_AT_ONCE = 1_000

interface HeldLane {
  readonly connectionId: ConnectionId
  readonly epoch: number
}

interface ClaimParts {
  readonly link: Link
  readonly clock: DatabaseClock
  readonly messages: QueuedMessages
  readonly known: KnownLanes
}

/** Who holds which lane. */
export class LaneClaims {
  readonly #parts: ClaimParts
  readonly #inspections: Batches<HeldLane, ClaimedLane | null>
  readonly #releases: Batches<HeldLane, boolean>

  constructor(parts: ClaimParts) {
    this.#parts = parts
    const shared = { ways: 1, mostPerBatch: LANES_AT_ONCE }
    this.#inspections = new Batches({ ...shared, run: (lanes) => this.#inspect(lanes) })
    this.#releases = new Batches({ ...shared, run: (lanes) => this.#release(lanes) })
  }

  async claim({ worker, only, held, leave, limit }: Parameters<Lanes['claim']>[0]): Promise<readonly ClaimedLane[]> {
    const wanted = only?.filter((id) => !held.has(id)) ?? null
    if (wanted?.length === 0) return []
    const claimed: ClaimedLane[] = []
    const free = (await this.#freeLanes(worker, wanted)).values()
    // More than once where some of them were taken by others in between.
    while (claimed.length < limit) {
      const chosen: ConnectionId[] = []
      for (const id of free) {
        if (!held.has(id) && !leave(id)) chosen.push(id)
        if (chosen.length + claimed.length >= limit) break
      }
      if (chosen.length === 0) break
      claimed.push(...(await this.#take(worker, chosen)))
    }
    return claimed
  }

  /** Those that ask in one turn share a statement. Null when the claim has been taken over. */
  inspect({ connectionId, epoch }: HeldLane): Promise<ClaimedLane | null> {
    return this.#inspections.submit({ connectionId, epoch })
  }

  async release(lanes: readonly HeldLane[]): Promise<void> {
    for (const lane of lanes) this.#parts.known.forget(lane)
    await Promise.all(lanes.map((lane) => this.#releases.submit(lane)))
  }

  async #freeLanes(worker: WorkerId, only: readonly ConnectionId[] | null): Promise<readonly ConnectionId[]> {
    const { link } = this.#parts
    const asked = [worker, only && textArray(only)]
    const [row] = await link.ask('select free_lanes($1, $2, $3, $4) as free', [...asked, ...this.#trust()])
    const free = row?.['free'] as string
    return free === '' ? [] : (free.split(',') as ConnectionId[])
  }

  async #take(worker: WorkerId, ids: readonly ConnectionId[]): Promise<readonly ClaimedLane[]> {
    const { link } = this.#parts
    const rows = await insist(() =>
      link.ask('select * from claim_lanes($1, $2, $3, $4)', [worker, textArray(ids), ...this.#trust()]),
    )
    const lanes = rows.map((row) => this.#toLane(row))
    for (const lane of lanes) this.#parts.known.note(lane)
    return lanes
  }

  /**
   * Which time we expect, and whether it was another lately. After a jump of the clock the heartbeats of others may only
   * look as if they had run out, until each of them has beaten again.
   */
  #trust(): readonly [number | null, boolean] {
    const { clock } = this.#parts
    return [clock.expected, clock.hasJumped(CLAIM_LASTS_MS)]
  }

  async #inspect(lanes: readonly HeldLane[]): Promise<readonly (ClaimedLane | null)[]> {
    const rows = await this.#parts.link.ask('select * from describe_lanes($1, $2)', idsAndEpochs(lanes))
    const found = new Map(rows.map((row) => [`${row['connection_id']} ${row['epoch']}`, this.#toLane(row)]))
    for (const lane of found.values()) this.#parts.known.note(lane)
    return lanes.map(({ connectionId, epoch }) => found.get(`${connectionId} ${epoch}`) ?? null)
  }

  async #release(lanes: readonly HeldLane[]): Promise<readonly boolean[]> {
    await this.#parts.link.ask('select release_lanes($1, $2)', idsAndEpochs(lanes))
    return lanes.map(() => true)
  }

  #toLane(row: Row): ClaimedLane {
    const connectionId = row['connection_id'] as ConnectionId
    return {
      connectionId,
      accountId: row['account_id'] as ClaimedLane['accountId'],
      number: row['number'] as string,
      channel: row['channel'] as string,
      channelSettings: JSON.parse(row['channel_settings'] as string) as ClaimedLane['channelSettings'],
      policy: { ...DEFAULT_LANE_POLICY, ...(JSON.parse(row['policy'] as string) as Partial<LanePolicy>) },
      epoch: row['epoch'] as number,
      mayOpen: row['may_open'] as boolean,
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
    }
  }
}

function idsAndEpochs(lanes: readonly HeldLane[]): [Buffer, Buffer] {
  return [textArray(lanes.map(({ connectionId }) => connectionId)), bigintArray(lanes.map(({ epoch }) => epoch))]
}

function toMemory(row: Row): LaneMemory {
  const [head, trouble, reason] = [row['head'], row['trouble'], row['wait_reason']]
  return {
    head: typeof head === 'string' ? (JSON.parse(head) as HeadMemory) : null,
    trouble: typeof trouble === 'string' ? (JSON.parse(trouble) as TroubleMemory) : null,
    wait:
      typeof reason === 'string'
        ? { reason, words: row['wait_words'] as string | null, until: row['wait_until'] as number | null }
        : null,
  }
}
