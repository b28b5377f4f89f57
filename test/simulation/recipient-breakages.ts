import type { Channel, Handover } from '../../src/core/ports/channel.ts'
import type { Lanes } from '../../src/core/ports/lanes.ts'
import { overrideLanes } from '../support/dispatch-world/override-lanes.ts'

/** The order of the lane is kept but for the first two messages to one recipient. */
export function withTwoSwapped(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async fetchNext(connectionId, limit, after) {
      const run = [...(await lanes.fetchNext(connectionId, limit, after))]
      const second = run.findIndex(({ recipient }, place) => place > 0 && recipient === run[0]?.recipient)
      if (second > 0) [run[0], run[second]] = [run[second]!, run[0]!]
      return run
    },
  })
}

/** The lane takes each message for one to a recipient of its own. */
export function withRecipientsApart(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    async fetchNext(connectionId, limit, after) {
      const run = await lanes.fetchNext(connectionId, limit, after)
      return run.map((message) => ({ ...message, recipient: `${message.recipient}#${message.sequence}` }))
    },
  })
}

export function withRecipientsTogether(channel: Channel): Channel {
  const together = (handover: Handover) => ({ ...handover, to: handover.to.replace(/#.*/, '') })
  const prepare = channel.prepare?.bind(channel)
  const rateLimitDelayOf = channel.rateLimitDelayOf?.bind(channel)
  return {
    ...channel,
    send: (handover, ...rest) => channel.send(together(handover), ...rest),
    ...(prepare && { prepare: (handover, signal) => prepare(together(handover), signal) }),
    ...(rateLimitDelayOf && {
      rateLimitDelayOf: (next, now) => rateLimitDelayOf({ ...next, to: next.to.replace(/#.*/, '') }, now),
    }),
  }
}

/** A deferred message is read again by its place, and is not found. */
export function withoutPassed(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    fetchNext: (connectionId, limit, after) =>
      limit === 1 ? Promise.resolve([]) : lanes.fetchNext(connectionId, limit, after),
  })
}
