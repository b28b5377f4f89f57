/** A message whose caller was answered with 200. Each lane has one caller, who sends the next when the last was answered. */
export interface Acknowledged {
  readonly lane: string
  /** 1 is the first of its lane. */
  readonly number: number
  readonly messageId: string
}

/** What arrived at a recipient, in the order of arrival. */
export interface Arrival {
  readonly lane: string
  readonly number: number
}

export interface LedgerInput {
  readonly acknowledged: readonly Acknowledged[]
  readonly arrivals: readonly Arrival[]
  /** Messages whose result the service itself does not know. */
  readonly unconfirmedIds: ReadonlySet<string>
}

export interface LedgerResult {
  readonly acknowledged: number
  readonly delivered: number
  /** Answered with 200, and neither delivered nor reported as unconfirmed. */
  readonly lost: number
  /** Deliveries beyond the first. */
  readonly doubled: number
  /** Messages that arrived after a later one of their lane. */
  readonly outOfOrder: number
  /** Not delivered, and named as such by the service. */
  readonly unconfirmed: number
  /** Delivered although no caller sent it. */
  readonly unasked: number
  /** Some of those that are lost, doubled or out of order. */
  readonly examples: readonly string[]
}

const SHOWN = 5

/** Compares what callers were promised with what arrived. Pure. */
export function checkLedger({ acknowledged, arrivals, unconfirmedIds }: LedgerInput): LedgerResult {
  const asked = new Map(acknowledged.map((one) => [nameOf(one), one]))
  const seen = new Set<string>()
  const highest = new Map<string, number>()
  const found = { doubled: [] as string[], outOfOrder: [] as string[], unasked: 0 }
  for (const arrival of arrivals) {
    const name = nameOf(arrival)
    if (!asked.has(name)) found.unasked += 1
    if (seen.has(name)) {
      found.doubled.push(name)
      continue
    }
    seen.add(name)
    const before = highest.get(arrival.lane) ?? 0
    if (arrival.number < before) found.outOfOrder.push(name)
    highest.set(arrival.lane, Math.max(before, arrival.number))
  }
  const missing = acknowledged.filter((one) => !seen.has(nameOf(one)))
  const lost = missing.filter(({ messageId }) => !unconfirmedIds.has(messageId))
  return {
    acknowledged: asked.size,
    delivered: seen.size,
    lost: lost.length,
    doubled: found.doubled.length,
    outOfOrder: found.outOfOrder.length,
    unconfirmed: missing.length - lost.length,
    unasked: found.unasked,
    examples: [
      ...lost.slice(0, SHOWN).map((one) => `lost ${nameOf(one)} (${one.messageId})`),
      ...found.doubled.slice(0, SHOWN).map((name) => `doubled ${name}`),
      ...found.outOfOrder.slice(0, SHOWN).map((name) => `out of order ${name}`),
    ],
  }
}

function nameOf({ lane, number }: Arrival): string {
  return `${lane}/${number}`
}
