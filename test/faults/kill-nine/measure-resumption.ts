import type { LedgerInput } from '../../support/ledger/ledger-input.ts'

/** From when the service said it was ready until it was killed, by the wall clock. */
export interface Uptime {
  readonly readyAt: number
  readonly endedAt: number
}

interface Resumption {
  /** How often a lane that had something waiting at the start was seen to deliver before the next kill. */
  readonly lanesResumed: number
  readonly medianMs: number
  /** Counts a lane that delivered nothing until the next kill with the time it had. */
  readonly slowestMs: number
}

/** How long lanes that had something waiting when the service became ready stood still. */
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
