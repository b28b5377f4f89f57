import type { LedgerInput } from '../../support/ledger/ledger-input.ts'

/** The longest time, in milliseconds, in which a lane delivered nothing although it had a waiting message. */
export function longestDeliveryGap({ messages, inbox }: LedgerInput): number {
  const deliveredAt = new Map(inbox.map((entry) => [entry.messageId, entry.deliveredAt]))
  const lanes = Map.groupBy(
    messages.flatMap(({ id, connection, acceptedAt }) => {
      const at = deliveredAt.get(id)
      return at === undefined ? [] : [{ connection, acceptedAt, at }]
    }),
    ({ connection }) => connection,
  )
  let longest = 0
  for (const lane of lanes.values()) {
    let lastAt = 0
    for (const { acceptedAt, at } of lane.toSorted((a, b) => a.at - b.at)) {
      longest = Math.max(longest, at - Math.max(lastAt, acceptedAt))
      lastAt = at
    }
  }
  return longest
}
