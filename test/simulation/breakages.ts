import { WorkerClaim } from '../../src/core/dispatch/worker-claim.ts'
import type { ConnectionId, WorkerId } from '../../src/core/ids.ts'
import type { Sequence } from '../../src/core/message/message.ts'
import type { Channel } from '../../src/core/ports/channel.ts'
import type { Lanes, Step, StepResult } from '../../src/core/ports/lanes.ts'
import type { Lots } from './lots.ts'
import type { SimulatedStorage } from './simulated-storage.ts'
import type { SimulatedWorker } from './simulated-worker.ts'
import type { Breakage, SimulatedWorld } from './simulated-world.ts'

/** Mistakes that a dispatcher or an engine could make. The referee must notice each of them. */
export const BREAKAGES: Readonly<Record<string, Breakage>> = {
  'the worker does not look at its own claim before it calls': { patch: withoutSelfCheck, aggravate: pauseOften },
  'a claim that ran out and was renewed counts as unbroken': { patch: withoutTerms, aggravate: cutOften },
  'the epoch of a record is not checked': { lanes: withoutEpochs, aggravate: pauseOften },
  'lanes of living workers are taken too': { lanes: withoutHeartbeats },
  'a lane reads on behind a cursor': { lanes: withCursor },
  'what may have arrived is simply sent again': { channel: withoutUnknown },
  'an attempt is called before it is committed': { lanes: withoutIntent },
  'an attempt ends and its message is settled in two commits': { lanes: inTwoCommits },
  'a message that is dropped beside a closing attempt is forgotten': {
    lanes: withoutDropBesideClose,
    aggravate: expireOften,
  },
}

function pauseOften(world: SimulatedWorld): void {
  often(world, (worker, lots) => worker.machine.pause(lots.between(16_000, 30_000), false))
}

/** Heartbeats fail for as long as a claim lasts, while the answer to a record is still on its way. */
function cutOften(world: SimulatedWorld): void {
  world.storageFaults.verySlow = 0.1
  often(world, (worker, lots) => {
    worker.line.cutUntil = world.schedule.now + lots.between(13_000, 20_000)
  })
}

function expireOften(world: SimulatedWorld): void {
  world.storage.database.exec(`update connection set policy = json_set(policy, '$.timeToLiveMs', 15000)`)
  world.networkFaults.fates = { ...world.networkFaults.fates, slow: 2 }
}

function often(world: SimulatedWorld, happen: (worker: SimulatedWorker, lots: Lots) => void): void {
  world.referee.outcomesMayBeLost = true
  const lots = world.lots.fork('aggravation')
  for (let atMs = 5_000; atMs < 150_000; atMs += 25_000) {
    world.schedule.after(atMs, () => {
      if (world.workers.length > 0) happen(lots.pick(world.workers), lots)
    })
  }
}

function withoutSelfCheck(): () => void {
  return replace('holds', { value: () => true })
}

function withoutTerms(): () => void {
  return replace('term', { get: () => 1 })
}

function replace(name: 'holds' | 'term', by: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(WorkerClaim.prototype, name) ?? {}
  Object.defineProperty(WorkerClaim.prototype, name, { ...by, configurable: true })
  return () => Object.defineProperty(WorkerClaim.prototype, name, before)
}

function withoutEpochs(lanes: Lanes, { database }: SimulatedStorage): Lanes {
  const epochOf = database.prepare('select epoch from lane where connection_id = ?')
  return overriding(lanes, {
    record: (step) => lanes.record({ ...step, epoch: epochOf.get(step.connectionId)?.['epoch'] as number }),
  })
}

function withoutHeartbeats(lanes: Lanes, { database }: SimulatedStorage): Lanes {
  const endAll = database.prepare('update worker set heartbeat_until = 0')
  return overriding(lanes, {
    claim: (request) => {
      endAll.run()
      return lanes.claim(request)
    },
  })
}

function withCursor(lanes: Lanes): Lanes {
  const readThrough = new Map<ConnectionId, Sequence>()
  return overriding(lanes, {
    async loadRun(connectionId, limit) {
      const after = readThrough.get(connectionId) ?? 0
      const run = (await lanes.loadRun(connectionId, limit)).filter((message) => message.sequence > after)
      readThrough.set(connectionId, run.at(-1)?.sequence ?? after)
      return run
    },
  })
}

function withoutUnknown(channel: Channel): Channel {
  return {
    ...channel,
    async send(handover, signal) {
      const outcome = await channel.send(handover, signal)
      if (outcome.kind !== 'unknown') return outcome
      const failure = { class: 'transient', code: 'network_error', suspectsNetwork: true, retryAfterMs: null } as const
      return { kind: 'rejected', failure: { ...failure, words: outcome.words } }
    },
  }
}

function withoutIntent(lanes: Lanes): Lanes {
  return overriding(lanes, {
    async record(step) {
      const written = lanes.record(step)
      if (!step.open) return written
      written.catch(() => {})
      return { fenced: false, opened: true }
    },
  })
}

/** The attempt is closed first, and its message is settled by a second commit that may never come. */
function inTwoCommits(lanes: Lanes): Lanes {
  return overriding(lanes, {
    async record(step): Promise<StepResult> {
      if (step.close?.disposition.do !== 'settle') return lanes.record(step)
      const { as, reason, words } = step.close.disposition
      const close: Step['close'] = { ...step.close, disposition: { do: 'keep-queued' } }
      const closed = await lanes.record({ ...step, close, open: null, drop: null })
      if (closed.fenced) return closed
      const { sequence } = step.close.attempt
      await lanes.record({ ...step, close: null, open: null, drop: { sequence, as, reason: reason ?? '', words } })
      return lanes.record({ ...step, close: null })
    },
  })
}

function withoutDropBesideClose(lanes: Lanes): Lanes {
  return overriding(lanes, { record: (step) => lanes.record(step.close ? { ...step, drop: null } : step) })
}

function overriding(lanes: Lanes, changed: Partial<Lanes>): Lanes {
  return {
    heartbeat: (worker: WorkerId, now, until) => lanes.heartbeat(worker, now, until),
    retire: (worker) => lanes.retire(worker),
    claim: (request) => lanes.claim(request),
    inspect: (lane) => lanes.inspect(lane),
    release: (released) => lanes.release(released),
    loadRun: (connectionId, limit) => lanes.loadRun(connectionId, limit),
    record: (step) => lanes.record(step),
    expire: (now, limit) => lanes.expire(now, limit),
    applyReceipt: (receipt) => lanes.applyReceipt(receipt),
    ...changed,
  }
}
