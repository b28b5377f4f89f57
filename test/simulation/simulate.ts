import type { LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { ConnectionId } from '../../src/core/ids.ts'
import { planLoad, planMediaOfCopies } from './client-load.ts'
import { confirmBacklogs, planFaults, stopFaults } from './incidents.ts'
import { NETWORKS, UPLOADING_NETWORKS } from './simulated-network.ts'
import { type Breakage, SimulatedWorld } from './simulated-world.ts'

const WORKERS = 3
const WATCH_EVERY_MS = 1_000
// The waits of a message that fails nine times, the waits that a network asked for, and a takeover for each.
const DRAINS_WITHIN_MS = 60 * 60_000

export interface RunResult {
  readonly seed: number
  readonly violation: { readonly invariant: string; readonly detail: string } | null
  readonly trace: readonly string[]
  /** The trace around the violation, or of the whole run. */
  readonly around: readonly string[]
  readonly virtualMs: number
  readonly messages: number
  readonly calls: number
}

/** Runs the world of a seed until it has come to rest or a promise is broken. */
export async function simulate(seed: number, breakage: Breakage = {}): Promise<RunResult> {
  const undo = breakage.patch?.()
  const world = new SimulatedWorld(seed, breakage)
  try {
    const startedAt = world.schedule.now
    await live(world, breakage)
    const { violation, lines } = world.trace
    const subject = violation ? (/\b(?:m|con_)\d+/g.exec(violation.detail)?.[0] ?? null) : null
    return {
      seed,
      violation,
      trace: lines,
      around: world.trace.around(
        subject ? [subject, laneOf(world, subject), 'starts', 'stops', 'paused', 'suspended'] : [],
        120,
      ),
      virtualMs: world.schedule.now - startedAt,
      messages: world.referee.sent.length,
      calls: world.network.calls.length,
    }
  } finally {
    world.storage.close()
    undo?.()
  }
}

async function live(world: SimulatedWorld, breakage: Breakage): Promise<void> {
  const random = world.random.fork('world')
  const faultsLastMs = random.between(20_000, 150_000)
  // Separate random values, so that existing seeds keep their worlds.
  const uploading = world.random.fork('uploading networks')
  const uploadsAreLikely = uploading.pick([0, 0, 0.5, 0.8])
  const confirming = world.random.fork('confirming backlogs')
  const allowedMs = confirming.pick([[0], [0], [0, 10_000, 60_000]])
  for (let i = 1; i <= random.between(2, 5); i++) {
    const id = `con_${i}` as ConnectionId
    const plain = random.pick(NETWORKS).name
    const network = uploading.chance(uploadsAreLikely) ? uploading.pick(UPLOADING_NETWORKS).name : plain
    world.addConnection(
      { id, accountNumber: (i % 2) + 1, number: `1555000${1000 + i}`, network },
      { ...policyOf(random), confirmBacklogAfterMs: confirming.pick(allowedMs) },
    )
  }
  for (let i = 0; i < WORKERS; i++) world.startWorker()
  planFaults(world, faultsLastMs)
  breakage.aggravate?.(world)
  planLoad(world, faultsLastMs)
  if (allowedMs.length > 1) confirmBacklogs(world, confirming)
  enterLanes(world, random)
  world.schedule.after(faultsLastMs, () => stopFaults(world))
  world.schedule.after(faultsLastMs + 1_000, () => planMediaOfCopies(world, random))
  // A supervisor may still be about to start a worker, so the check begins when all are there.
  const healthyAt = world.schedule.now + faultsLastMs + 50_000
  watch(world, { healthyAt, drainedBy: healthyAt + DRAINS_WITHIN_MS })
  await world.schedule.run(
    () => world.trace.violation !== null || (world.schedule.now >= healthyAt && world.referee.isDrained()),
  )
  if (!world.trace.violation) world.referee.checkEnd()
}

/** Does what the service does a few times a second, unless it is late. */
function enterLanes(world: SimulatedWorld, random: SimulatedWorld['random']): void {
  world.schedule.after(random.pick([200, 200, 3_000]), () => {
    void world.schedule.work(() => world.storage.storage.enterLanes())
    enterLanes(world, random)
  })
}

function watch(world: SimulatedWorld, ends: { healthyAt: number; drainedBy: number }): void {
  world.schedule.after(WATCH_EVERY_MS, () => {
    if (world.schedule.now >= ends.healthyAt) world.referee.watchLiveness()
    world.uploadReferee.watch()
    if (world.schedule.now >= ends.drainedBy) world.trace.violate('I1 no loss', 'the world never comes to rest')
    watch(world, ends)
  })
}

function laneOf(world: SimulatedWorld, subject: string): string {
  if (subject.startsWith('con_')) return subject
  const row = world.storage.database
    .prepare('select connection_id from message where sequence = ?')
    .get(Number(subject.slice(1)))
  return String(row?.['connection_id'] ?? subject)
}

function policyOf(random: SimulatedWorld['random']): LanePolicy {
  return {
    onUnconfirmed: random.pick(['leave', 'leave', 'resend']),
    timeToLiveMs: random.pick([60_000, 24 * 3_600_000, 24 * 3_600_000]),
    leastGapMs: random.pick([0, 0, 0, 3_000]),
    gapJitterMs: random.pick([0, 1_000]),
    quietHours: null,
    confirmBacklogAfterMs: 0,
  }
}
