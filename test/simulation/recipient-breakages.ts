import { type Candidate, LaneBuffer } from '../../src/core/dispatch/lane/lane-buffer.ts'
import { LaneRules } from '../../src/core/dispatch/lane/lane-rules.ts'
import type { ConnectionId, Instant } from '../../src/core/ids.ts'
import type { QueuedMessage, Sequence } from '../../src/core/message/message.ts'
import type { Channel, Handover } from '../../src/core/ports/channel.ts'
import type { Lanes } from '../../src/core/ports/lanes.ts'
import { overrideLanes } from '../support/dispatch-world/override-lanes.ts'
import { replace } from './replace.ts'
import type { Breakage } from './simulated-world.ts'

/** Keeps the order of the lane, except for the first two messages to one recipient. */
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

/** The lane treats each message as one to a different recipient. */
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

/** A deferred message is read again by its position, and is not found. */
export function withoutPassed(lanes: Lanes): Lanes {
  return overrideLanes(lanes, {
    fetchNext: (connectionId, limit, after) =>
      limit === 1 ? Promise.resolve([]) : lanes.fetchNext(connectionId, limit, after),
  })
}

/** A message whose wait has ended waits for three more checks, so that younger messages are sent first. */
export function withLazyRetries(): () => void {
  type Decide = LaneRules['decide']
  const decide = Object.getOwnPropertyDescriptor(LaneRules.prototype, 'decide')?.value as Decide
  const passed = new Map<Sequence, number>()
  return replace(LaneRules.prototype, 'decide', {
    value(this: LaneRules, ...given: Parameters<Decide>): ReturnType<Decide> {
      const decision = decide.apply(this, given)
      const [{ sequence, retry }] = given
      const times = passed.get(sequence) ?? 0
      if (decision.do !== 'start' || !retry?.wait || times === 3) return decision
      passed.set(sequence, times + 1)
      return { do: 'defer', retry, reason: 'retrying', until: null }
    },
  })
}

/** Of the deferred messages that may be sent again, the youngest is chosen. */
export function withYoungestFirst(): Pick<Breakage, 'lanes' | 'patch'> {
  // Deferred messages are read one by one.
  const deferred = new WeakSet<QueuedMessage>()
  const lanes = (inner: Lanes): Lanes =>
    overrideLanes(inner, {
      async fetchNext(connectionId, limit, after) {
        const run = await inner.fetchNext(connectionId, limit, after)
        if (limit === 1) for (const message of run) deferred.add(message)
        return run
      },
    })
  type Next = LaneBuffer['next']
  const next = Object.getOwnPropertyDescriptor(LaneBuffer.prototype, 'next')?.value as Next
  const patch = () =>
    replace(LaneBuffer.prototype, 'next', {
      async value(this: LaneBuffer, now: Instant): Promise<Candidate | null> {
        let youngest = await next.call(this, now)
        while (youngest && deferred.has(youngest.message)) {
          this.defer(youngest.message, now)
          const following = await next.call(this, now)
          if (!following || !deferred.has(following.message)) {
            this.wake(youngest.message.sequence)
            return next.call(this, now)
          }
          youngest = following
        }
        return youngest
      },
    })
  return { lanes, patch }
}

/**
 * A message accepted here for a recipient whose messages wait is passed over at once, without reading what another process has
 * accepted before it.
 */
export function withoutReadingBefore(): Pick<Breakage, 'lanes' | 'patch'> {
  const original = <Name extends 'add' | 'expectMore' | 'next'>(name: Name) =>
    Object.getOwnPropertyDescriptor(LaneBuffer.prototype, name)?.value as LaneBuffer[Name]
  const [add, expectMore, next] = [original('add'), original('expectMore'), original('next')]
  const added = new WeakMap<LaneBuffer, QueuedMessage[]>()
  let searched: LaneBuffer | null = null
  let insteadOfReading: readonly QueuedMessage[] = []
  const patch = () => {
    const undo = [
      replace(LaneBuffer.prototype, 'add', {
        value(this: LaneBuffer, message: QueuedMessage): boolean {
          const isAdded = add.call(this, message)
          if (isAdded) added.set(this, [...(added.get(this) ?? []), message])
          return isAdded
        },
      }),
      replace(LaneBuffer.prototype, 'expectMore', {
        value(this: LaneBuffer): void {
          if (searched === this) insteadOfReading = added.get(this) ?? []
          added.delete(this)
          expectMore.call(this)
        },
      }),
      replace(LaneBuffer.prototype, 'next', {
        value(this: LaneBuffer, now: Instant): ReturnType<typeof next> {
          searched = this
          try {
            return next.call(this, now)
          } finally {
            searched = null
            insteadOfReading = []
          }
        },
      }),
    ]
    return () => {
      for (const each of undo) each()
    }
  }
  const lanes = (inner: Lanes): Lanes =>
    overrideLanes(inner, {
      fetchNext(connectionId, limit, after) {
        const accepted = limit > 1 ? insteadOfReading.filter(({ sequence }) => sequence > after) : []
        return accepted.length > 0 ? Promise.resolve(accepted) : inner.fetchNext(connectionId, limit, after)
      },
    })
  return { lanes, patch }
}

/** A limit of one recipient is treated as one of the connection. */
export function withLimitsOfLanes(channel: Channel): Channel {
  const rateLimitDelayOf = channel.rateLimitDelayOf?.bind(channel)
  if (!rateLimitDelayOf) return channel
  return {
    ...channel,
    rateLimitDelayOf(next, now) {
      const delay = rateLimitDelayOf(next, now)
      return delay && { ...delay, scope: 'connection' }
    },
  }
}

/** The wait for a retry is stored for the lane, which reads nothing more for some time. */
export function withWaitsOfLanes(lanes: Lanes): Lanes {
  const emptyReads = new Map<ConnectionId, number>()
  return overrideLanes(lanes, {
    record(step) {
      const disposition = step.finish?.disposition
      const wait = disposition?.do === 'keep-queued' ? disposition.retry?.wait : null
      if (wait?.kind !== 'retry') return lanes.record(step)
      emptyReads.set(step.connectionId, 8)
      return lanes.record({ ...step, memory: { failureStreak: null, wait } })
    },
    async fetchNext(connectionId, limit, after) {
      const left = limit > 1 ? (emptyReads.get(connectionId) ?? 0) : 0
      if (left > 0) emptyReads.set(connectionId, left - 1)
      return left > 0 ? [] : lanes.fetchNext(connectionId, limit, after)
    },
  })
}

/** Each worker knows only the failed tries that it has written itself. */
export function withoutTries(lanes: Lanes): Lanes {
  const own = new Set<Sequence>()
  return overrideLanes(lanes, {
    record(step) {
      if (step.finish?.disposition.do === 'keep-queued') own.add(step.finish.attempt.sequence)
      return lanes.record(step)
    },
    async fetchNext(connectionId, limit, after) {
      const run = await lanes.fetchNext(connectionId, limit, after)
      return run.map((message) =>
        message.retry && !own.has(message.sequence) ? { ...message, retry: { ...message.retry, tries: 0 } } : message,
      )
    },
  })
}
