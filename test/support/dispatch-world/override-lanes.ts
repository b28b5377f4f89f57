import type { Lanes } from '../../../src/core/ports/lanes.ts'

/** The same lanes, but for what is given. */
export function overrideLanes(lanes: Lanes, changed: Partial<Lanes>): Lanes {
  return {
    heartbeat: (worker, lastsMs) => lanes.heartbeat(worker, lastsMs),
    retire: (worker) => lanes.retire(worker),
    claim: (request) => lanes.claim(request),
    inspect: (lane) => lanes.inspect(lane),
    release: (released) => lanes.release(released),
    loadRun: (connectionId, limit) => lanes.loadRun(connectionId, limit),
    record: (step) => lanes.record(step),
    expire: (limit) => lanes.expire(limit),
    applyReceipt: (receipt) => lanes.applyReceipt(receipt),
    ...changed,
  }
}
