import type { ConnectionId, WorkerId } from '../../../src/core/ids.ts'
import type { Cluster } from '../../support/black-box/cluster.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { preferredWorker } from '../../support/preferred-worker.ts'

interface ListedWorker {
  readonly id: WorkerId
  readonly state: 'alive' | 'gone'
}

interface ListedLane {
  /** The sender number. */
  readonly connection: string
  readonly worker: WorkerId
}

export interface Distribution {
  /** How many lanes each living worker holds. */
  readonly lanes: readonly number[]
  /** Connections whose lane is not held by the worker that it is assigned to. */
  readonly elsewhere: readonly string[]
  /** How many living workers hold no lane, although some are assigned to them. */
  readonly idle: number
}

// On a busy machine a worker that needs more than five seconds to claim a lane counts as one that does not claim. Another worker
// then keeps the lane while it has work.
const MOST_ELSEWHERE = 1 / 3

/**
 * Waits until this many workers live, each of them holds lanes, and each lane is held by the worker that it is assigned to, as
 * `nuncio workers` shows it. All lanes must have work.
 */
export async function waitForDistribution(
  cluster: Cluster,
  workers: number,
  deadlineMs: number,
): Promise<Distribution> {
  let latest: Distribution | null = null
  const read = async () => {
    const distribution = await readDistribution(cluster)
    latest = distribution
    const held = distribution.lanes.reduce((sum, count) => sum + count, 0)
    const isInUse =
      distribution.lanes.length === workers && distribution.idle === 0 && held === cluster.connections.length
    return isInUse && distribution.elsewhere.length <= MOST_ELSEWHERE * held && distribution
  }
  const what = `the lanes are distributed over ${workers} workers`
  return waitUntil(what, read, { deadlineMs, everyMs: 200 }).catch((error: unknown) => {
    throw new Error(`Last seen: ${JSON.stringify(latest)}`, { cause: error })
  })
}

export function describeDistribution({ lanes, elsewhere }: Pick<Distribution, 'lanes' | 'elsewhere'>): string {
  return `${lanes.join(' ')}${elsewhere.length > 0 ? ` (${elsewhere.length} not with their own)` : ''}`
}

async function readDistribution({ cli, connections }: Cluster): Promise<Distribution> {
  const [listed, lanes, known] = await Promise.all([
    cli.json<ListedWorker[]>('workers'),
    cli.json<ListedLane[]>('workers', '--lanes'),
    cli.json<{ id: ConnectionId; number: string }[]>('connection', 'list'),
  ])
  const living = listed.filter(({ state }) => state === 'alive').map(({ id }) => id)
  const holders = new Map(lanes.map(({ connection, worker }) => [connection, worker]))
  const ids = new Map(known.map(({ id, number }) => [number, id]))
  const sharers = new Map(connections.map((number) => [number, preferredWorker(ids.get(number)!, living)]))
  const counts = living.map((id) => lanes.filter(({ worker }) => worker === id).length)
  // Chance may assign no lane to a worker.
  const wanted = new Set(sharers.values())
  return {
    lanes: counts,
    elsewhere: connections.filter((number) => holders.get(number) !== sharers.get(number)),
    idle: living.filter((id, at) => counts[at] === 0 && wanted.has(id)).length,
  }
}
