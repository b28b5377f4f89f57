import { WorkerClaim } from '../../src/core/dispatch/worker-claim.ts'
import type { ConnectionId, WorkerId } from '../../src/core/ids.ts'
import type { Sequence } from '../../src/core/message/message.ts'
import type { Channel } from '../../src/core/ports/channel.ts'
import type { Lanes, Step, StepResult } from '../../src/core/ports/lanes.ts'
import type { SimulatedStorage } from './simulated-storage.ts'
import type { Breakage } from './simulated-world.ts'

export interface KnownBreakage extends Breakage {
  readonly firstSeed: number
}

/**
 * Mistakes that a dispatcher or an engine could make. The referee must notice each of them, looking from the first
 * seed that shows it, so that the tests stay quick.
 */
export const BREAKAGES: Readonly<Record<string, KnownBreakage>> = {
  'the worker does not look at its own claim before it calls': { firstSeed: 2, patch: withoutSelfCheck },
  'a claim that ran out and was renewed counts as unbroken': { firstSeed: 140, patch: withoutTerms },
  'the epoch of a record is not checked': { firstSeed: 1, lanes: withoutEpochs },
  'lanes of living workers are taken too': { firstSeed: 1, lanes: withoutHeartbeats },
  'a lane reads on behind a cursor': { firstSeed: 1, lanes: withCursor },
  'what may have arrived is simply sent again': { firstSeed: 1, channel: withoutUnknown },
  'an attempt is called before it is committed': { firstSeed: 1, lanes: withoutIntent },
  'an attempt ends and its message is settled in two commits': { firstSeed: 1, lanes: inTwoCommits },
  'a message that is dropped beside a closing attempt is forgotten': { firstSeed: 43, lanes: withoutDropBesideClose },
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
