import type { ChannelState } from '../../../src/core/ports/channel-state.ts'
import { StorageUnavailable } from '../../../src/core/ports/lanes.ts'
import type { SessionRows } from '../../../src/core/ports/session-store.ts'

/** The same channel state. While `line.isLost`, storage does not answer. */
export function loseable(memory: ChannelState, line: { isLost: boolean }): ChannelState {
  const unlessLost = losing(line)
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

/** Like `loseable`, for sessions. */
export function loseableRows(rows: SessionRows, line: { isLost: boolean }): SessionRows {
  const unlessLost = losing(line)
  return {
    find: unlessLost((...given) => rows.find(...given)),
    read: unlessLost((...given) => rows.read(...given)),
    write: unlessLost((...given) => rows.write(...given)),
    remove: unlessLost((...given) => rows.remove(...given)),
    findRequest: unlessLost((...given) => rows.findRequest(...given)),
    report: unlessLost((...given) => rows.report(...given)),
    writeStatus: unlessLost((...given) => rows.writeStatus(...given)),
  }
}

function losing(line: { readonly isLost: boolean }) {
  return <Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    (...given: Given) =>
      line.isLost ? Promise.reject<Result>(new StorageUnavailable('storage is away', false)) : call(...given)
}
