import { preferredWorker } from '../../../src/core/dispatch/share.ts'
import type { ConnectionId, WorkerId } from '../../../src/core/ids.ts'
import type { Cluster } from '../../support/black-box/cluster.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'

interface ListedWorker {
  readonly id: WorkerId
  readonly state: 'alive' | 'gone'
}

interface ListedLane {
  /** The sender number. */
  readonly connection: string
  readonly worker: WorkerId
}

/** How many lanes each of so many living workers holds. */
export type Spread = Readonly<Record<WorkerId, number>>

/**
 * Waits until so many workers live and each lane in use is held by the worker whose share it is, as `nuncio workers` shows
 * it. All lanes must have something to do.
 */
export async function waitForSpread(cluster: Cluster, workers: number, deadlineMs: number): Promise<Spread> {
  let latest: Found | null = null
  const look = async () => {
    latest = await lookAtSpread(cluster)
    return latest.living === workers && latest.elsewhere.length === 0 && latest.spread
  }
  const what = `the lanes are spread over ${workers} workers`
  return waitUntil(what, look, { deadlineMs, everyMs: 200 }).catch((error: unknown) => {
    throw new Error(`Last seen: ${JSON.stringify(latest)}`, { cause: error })
  })
}

interface Found {
  readonly living: number
  readonly spread: Spread
  /** Connections whose lane is not held by the worker that should have it, and by whom it is. */
  readonly elsewhere: readonly (readonly [string, WorkerId | null])[]
}

async function lookAtSpread({ cli, connections }: Cluster): Promise<Found> {
  const [listed, lanes, known] = await Promise.all([
    cli.json<ListedWorker[]>('workers'),
    cli.json<ListedLane[]>('workers', '--lanes'),
    cli.json<{ id: ConnectionId; number: string }[]>('connection', 'list'),
  ])
  const living = listed.filter(({ state }) => state === 'alive').map(({ id }) => id)
  const holders = new Map(lanes.map(({ connection, worker }) => [connection, worker]))
  const ids = new Map(known.map(({ id, number }) => [number, id]))
  return {
    living: living.length,
    spread: Object.fromEntries(living.map((id) => [id, lanes.filter(({ worker }) => worker === id).length])),
    elsewhere: connections
      .filter((number) => holders.get(number) !== preferredWorker(ids.get(number)!, living))
      .map((number) => [number, holders.get(number) ?? null]),
  }
}
