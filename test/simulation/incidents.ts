import type { AccountId, ConnectionId, MessageId } from '../../src/core/ids.ts'
import type { Administration } from '../../src/core/ports/administration.ts'
import { Refusal } from '../../src/core/refusals.ts'
import type { Random } from './random.ts'
import type { CallResult } from './simulated-network.ts'
import type { UploadResult } from './simulated-uploads.ts'
import type { SimulatedWorld } from './simulated-world.ts'

const CLAIM_MS = 15_000
const TWO_DAYS_MS = 2 * 24 * 3_600_000
const AN_INCIDENT_IS_LIKELY = 0.35
const MOST_WORKERS = 6
const GENTLE_GRACE_MS = 25_000

// Cancelling states that a message did not arrive. This is unknown for a message that is repeated after an unknown result.
const CANCELLABLE = 'select sequence, id from waiting where connection_id = ? order by sequence limit 3'

const UNCONFIRMED_BACKLOGS = `select c.id, c.account_id from lane join connection c on c.id = lane.connection_id
  where lane.wait_reason = 'backlog_confirmation' order by c.id`

type Incident = (world: SimulatedWorld, random: Random) => void

const INCIDENTS: Readonly<Record<string, Incident>> = {
  pause: (world, random) => pause(world, random, false),
  suspend: (world, random) => pause(world, random, true),
  crash: (world, random) => {
    world.referee.outcomesMayBeLost = true
    world.replace(random.pick(world.workers), random.between(10, 25_000), 'crashes')
  },
  stop: (world, random) => stop(world, random),
  'storage away': (world, random) => {
    world.referee.outcomesMayBeLost = true
    world.storageFaults.awayUntil = world.schedule.now + random.between(500, 40_000)
    world.trace.note('world', 'storage is away')
  },
  cut: (world, random) => {
    world.referee.outcomesMayBeLost = true
    const worker = random.pick(world.workers)
    worker.line.cutUntil = world.schedule.now + random.between(1_000, 40_000)
    world.trace.note(worker.machine.name, 'is cut off from storage')
  },
  'clock jump': (world, random) => {
    // A jump ahead is like a suspension of the machine, so its running calls are given up.
    world.referee.outcomesMayBeLost = true
    const worker = random.pick(world.workers)
    const { machine } = worker
    // If a clock is set back during a suspension, neither clock shows the suspension, and nothing could notice it.
    if (machine.isPaused) return
    machine.wallOffsetMs = random.pick([-TWO_DAYS_MS, TWO_DAYS_MS, random.between(-60_000, 60_000), 0])
    // On SQLite the database uses the machine's clock; a database server has its own.
    machine.nowOffsetMs = random.chance(0.5) ? machine.wallOffsetMs : 0
    if (machine.nowOffsetMs !== 0) world.backlogReferee.clocksJumped = true
    world.trace.note(
      machine.name,
      `its wall clock is off by ${machine.wallOffsetMs} ms, its time by ${machine.nowOffsetMs}`,
    )
  },
  'another worker': (world, random) => join(world, random),
  'dropped claim': (world, random) => {
    world.referee.outcomesMayBeLost = true
    const [worker, connection] = [random.pick(world.workers), random.pick(world.connections)]
    world.trace.note(worker.machine.name, `drops ${connection.id}`)
    worker.dropClaim(connection.id)
  },
  'paused connection': (world, random) => {
    const { id } = random.pick(world.connections)
    const state = random.pick(['paused', 'active'] as const)
    administer(world, { id, what: `sets ${id} ${state}`, random }, (administration) =>
      administration.setConnectionState(id, state, 'test'),
    )
  },
  'changed policy': (world, random) => changePolicy(world, random),
  cancel: (world, random) => cancel(world, random),
  'person resolves': (world, random) => resolve(world, random),
}

/** Draws at random what goes wrong in this run: a few kinds of errors only, so that they can be distinguished. */
export function planFaults(world: SimulatedWorld, untilMs: number): void {
  const random = world.random.fork('faults')
  const { storageFaults, networkFaults, uploadFaults } = world
  const likely = () => random.chance(AN_INCIDENT_IS_LIKELY)
  storageFaults.failsBefore = likely() ? random.pick([0.01, 0.05, 0.25]) : 0
  storageFaults.failsAfter = likely() ? random.pick([0.01, 0.05, 0.25]) : 0
  storageFaults.slow = likely() ? 0.1 : 0
  storageFaults.verySlow = likely() ? 0.01 : 0
  // This is enough that heartbeats fail for as long as a claim lasts. With less, no outcome may be given up.
  if (storageFaults.failsAfter + storageFaults.failsBefore >= 0.25 || storageFaults.verySlow > 0)
    world.referee.outcomesMayBeLost = true
  networkFaults.freezes = likely() ? 0.03 : 0
  if (networkFaults.freezes > 0) world.referee.outcomesMayBeLost = true
  networkFaults.reports = likely() ? 0.3 : 0
  const weights: Partial<Record<CallResult, number>> = {}
  for (const result of [
    'answer-lost',
    'lost',
    'busy',
    'away',
    'unreachable',
    'hangs',
    'hangs-then-acts',
    'slow',
  ] as const) {
    if (likely()) weights[result] = random.pick([0.02, 0.1, 0.4])
  }
  networkFaults.weights = weights
  planUploadFaults(world)
  planRecipientFaults(world)
  const kinds = Object.keys(INCIDENTS).filter(likely)
  world.trace.note(
    'world',
    `faults: ${JSON.stringify({ ...storageFaults, ...networkFaults, uploads: uploadFaults, kinds })}`,
  )
  for (let atMs = 0; kinds.length > 0 && atMs < untilMs; atMs += random.between(500, 12_000)) {
    const incident = INCIDENTS[random.pick(kinds)]
    world.schedule.after(atMs, () => {
      if (world.workers.length > 0) incident?.(world, random)
    })
  }
}

function planUploadFaults({ random: all, uploadFaults }: SimulatedWorld): void {
  const random = all.fork('upload faults')
  const likely = () => random.chance(AN_INCIDENT_IS_LIKELY)
  const weights: Partial<Record<UploadResult, number>> = {}
  for (const result of ['slow', 'stuck', 'stuck-and-deaf', 'busy', 'away', 'refused', 'crash'] as const) {
    if (likely()) weights[result] = random.pick([0.05, 0.2, 0.5])
  }
  uploadFaults.weights = weights
  uploadFaults.rests = likely() ? 0.3 : 0
}

/** Has its own random values, so that existing seeds keep their worlds. */
function planRecipientFaults({ random: all, networkFaults, uploadFaults }: SimulatedWorld): void {
  const random = all.fork('recipient faults')
  const likely = () => random.chance(AN_INCIDENT_IS_LIKELY)
  networkFaults.busyRecipients = likely() ? random.pick([0.05, 0.2]) : 0
  uploadFaults.recipientRests = likely() ? 0.3 : 0
}

/** From here on nothing fails. */
export function stopFaults(world: SimulatedWorld): void {
  world.trace.note('world', 'all faults stop')
  Object.assign(world.storageFaults, { failsBefore: 0, failsAfter: 0, slow: 0, verySlow: 0, awayUntil: 0 })
  Object.assign(world.networkFaults, { weights: {}, busyRecipients: 0, freezes: 0, reports: 0 })
  Object.assign(world.uploadFaults, { weights: {}, rests: 0, recipientRests: 0 })
  for (const worker of world.workers) {
    worker.line.cutUntil = 0
    if (!worker.machine.isPaused) worker.machine.wallOffsetMs = 0
    worker.machine.nowOffsetMs = 0
    worker.machine.wake()
  }
  const random = world.random.fork('recovery')
  for (const { id } of world.connections) {
    administer(world, { id, what: `sets ${id} active`, random }, (administration) =>
      administration.setConnectionState(id, 'active', 'test'),
    )
  }
}

/** A person checks now and then, and confirms waiting backlogs, even after the faults. */
export function confirmBacklogs(world: SimulatedWorld, random: Random): void {
  world.schedule.after(random.between(5_000, 60_000), () => {
    for (const row of world.storage.database.prepare(UNCONFIRMED_BACKLOGS).all()) {
      const id = row['id'] as ConnectionId
      administer(world, { id, what: `lets the backlog of ${id} drain`, random }, async () => {
        await world.storage.confirmBacklog(row['account_id'] as AccountId, id)
        world.backlogReferee.onConfirmed(id, world.schedule.now)
      })
    }
    confirmBacklogs(world, random)
  })
}

function pause(world: SimulatedWorld, random: Random, suspended: boolean): void {
  world.referee.outcomesMayBeLost = true
  const { machine } = random.pick(world.workers)
  world.trace.note(machine.name, suspended ? 'is suspended' : 'is paused')
  machine.pause(random.pick([random.between(1, 2_000), random.between(2_000, 4 * CLAIM_MS)]), suspended)
}

function stop(world: SimulatedWorld, random: Random): void {
  // A call that is still open after the grace period, or while storage is away, stays open.
  world.referee.outcomesMayBeLost = true
  const worker = random.pick(world.workers)
  const nextAfterMs = random.between(0, 5_000)
  world.trace.note(worker.machine.name, 'is asked to stop')
  worker.stop(random.between(0, 12_000), () => world.replace(worker, nextAfterMs, 'has stopped'))
  world.schedule.after(45_000, () => world.replace(worker, nextAfterMs, 'is killed by its supervisor'))
}

/** Another worker joins, gets its lanes, and returns them when it leaves. */
export function join(world: SimulatedWorld, random: Random): void {
  if (world.workers.length >= MOST_WORKERS) return
  const { failsBefore, failsAfter } = world.storageFaults
  // A stopping worker tries to record an outcome only once.
  if (failsBefore + failsAfter > 0) world.referee.outcomesMayBeLost = true
  const worker = world.startWorker()
  world.schedule.after(random.between(2_000, 60_000), () => {
    if (worker.machine.isDead) return
    world.trace.note(worker.machine.name, 'is asked to stop')
    // Calls end by themselves within this time.
    worker.stop(GENTLE_GRACE_MS, () => world.remove(worker, 'has stopped'))
  })
}

function changePolicy(world: SimulatedWorld, random: Random): void {
  const { id } = random.pick(world.connections)
  const onUnconfirmed = random.pick(['leave', 'resend'] as const)
  const leastGapMs = random.pick([0, 0, 1_000])
  if (onUnconfirmed === 'resend') world.referee.mayResend.add(id)
  administer(
    world,
    { id, what: `changes ${id} to ${onUnconfirmed}, gap ${leastGapMs}`, random },
    async (administration) => {
      const connection = (await administration.listConnections(null)).find((each) => each.id === id)
      if (!connection) return
      const policy = { ...connection.policy, onUnconfirmed, leastGapMs }
      await administration.changeConnection(id, { policy, channelSettings: {} }, 'test')
    },
  )
}

export function cancel(world: SimulatedWorld, random: Random): void {
  const { id } = random.pick(world.connections)
  const rows = world.storage.database.prepare(CANCELLABLE).all(id)
  if (rows.length === 0) return
  const row = random.pick(rows)
  const what = `cancels m${String(row['sequence'])}`
  administer(world, { id, what, random }, (administration) =>
    administration.cancelMessage(row['id'] as MessageId, 'test'),
  )
}

function resolve(world: SimulatedWorld, random: Random): void {
  const rows = world.storage.database
    .prepare(
      `select sequence, id, connection_id from message where state = 'UNCONFIRMED' and resolved_at is null order by sequence limit 3`,
    )
    .all()
  if (rows.length === 0) return
  const row = random.pick(rows)
  const as = random.pick(['arrived', 'send-again'] as const)
  const what = `resolves m${String(row['sequence'])}: ${as}`
  administer(world, { id: row['connection_id'] as ConnectionId, what, random }, (administration) =>
    administration.resolveMessage(row['id'] as MessageId, as, 'test'),
  )
}

function administer(
  world: SimulatedWorld,
  { id, what, random }: { id: ConnectionId; what: string; random: Random },
  change: (administration: Administration) => Promise<unknown>,
): void {
  void world.schedule.work(async () => {
    try {
      await change(world.storage.administration)
      world.trace.note('person', what)
      world.notify(id, 'change', random)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      world.trace.note('person', `${what}: refused`)
    }
  })
}
