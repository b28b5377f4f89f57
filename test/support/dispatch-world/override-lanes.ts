import { type Lanes, StorageUnavailable } from '../../../src/core/ports/lanes.ts'

/** The same lanes with some methods replaced. */
export function overrideLanes(lanes: Lanes, changed: Partial<Lanes>): Lanes {
  return {
    heartbeat: (worker, lastsMs) => lanes.heartbeat(worker, lastsMs),
    deleteLease: (worker) => lanes.deleteLease(worker),
    claim: (request) => lanes.claim(request),
    inspect: (lane) => lanes.inspect(lane),
    release: (released) => lanes.release(released),
    fetchNext: (connectionId, limit, after) => lanes.fetchNext(connectionId, limit, after),
    record: (step) => lanes.record(step),
    expire: (limit) => lanes.expire(limit),
    applyReceipt: (receipt) => lanes.applyReceipt(receipt),
    ...changed,
  }
}

/** The lanes behind a connection to storage that tests can cut. */
export function cuttable(lanes: Lanes, line: { isCut: boolean }): Lanes {
  const cut = <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) => {
    return (...given: Given) =>
      line.isCut ? Promise.reject<Result>(new StorageUnavailable('cut', false)) : call(...given)
  }
  return overrideLanes(lanes, {
    heartbeat: cut((...given) => lanes.heartbeat(...given)),
    claim: cut((...given) => lanes.claim(...given)),
    record: cut((...given) => lanes.record(...given)),
    inspect: cut((...given) => lanes.inspect(...given)),
    fetchNext: cut((...given) => lanes.fetchNext(...given)),
  })
}
