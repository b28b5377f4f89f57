import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'

/** The same memory, but while `line.isLost` storage does not answer. */
export function loseable(memory: ChannelState, line: { isLost: boolean }): ChannelState {
  const unlessLost = <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) => {
    return (...given: Given) =>
      line.isLost ? Promise.reject<Result>(new StorageUnavailable('storage is away', false)) : call(...given)
  }
  return {
    add: unlessLost((...given) => memory.add(...given)),
    find: unlessLost((...given) => memory.find(...given)),
    findSome: unlessLost((...given) => memory.findSome(...given)),
    list: unlessLost((...given) => memory.list(...given)),
    due: unlessLost((...given) => memory.due(...given)),
    dueByTurns: unlessLost((...given) => memory.dueByTurns(...given)),
    remove: unlessLost((...given) => memory.remove(...given)),
  }
}
