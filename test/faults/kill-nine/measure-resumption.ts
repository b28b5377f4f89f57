import type { LedgerInput } from '../../support/ledger/ledger-input.ts'

/** The time from when the service was ready until it was killed, by the wall clock. */
export interface Uptime {
  readonly readyAt: number
  readonly endedAt: number
}

interface Resumption {
  /** How often a lane with a waiting message delivered something between a start and the next kill. */
  readonly lanesResumed: number
  readonly medianMs: number
  /** The longest wait. A lane that delivered nothing counts with the whole time until the kill. */
  readonly slowestMs: number
}

/** Measures how long lanes with waiting messages stood still after the service was ready. */
export function measureResumption(uptimes: readonly Uptime[], { messages, inbox }: LedgerInput): Resumption {
  const deliveredAt = new Map(inbox.map((entry) => [entry.messageId, entry.deliveredAt]))
  const lanes = Map.groupBy(
    messages.flatMap(({ id, connection, acceptedAt }) => {
      const at = deliveredAt.get(id)
      return at === undefined ? [] : [{ connection, acceptedAt, deliveredAt: at }]
    }),
    ({ connection }) => connection,
  )
  const waits: number[] = []
  let slowestMs = 0
  for (const { readyAt, endedAt } of uptimes.slice(1)) {
    for (const lane of lanes.values()) {
      const later = lane.filter((message) => message.deliveredAt >= readyAt)
      if (!later.some(({ acceptedAt }) => acceptedAt < readyAt)) continue
      const firstAt = Math.min(...later.map((message) => message.deliveredAt))
      if (firstAt < endedAt) waits.push(firstAt - readyAt)
      slowestMs = Math.max(slowestMs, Math.min(firstAt, endedAt) - readyAt)
    }
  }
  const sorted = waits.toSorted((a, b) => a - b)
  return { lanesResumed: waits.length, medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0, slowestMs }
}
