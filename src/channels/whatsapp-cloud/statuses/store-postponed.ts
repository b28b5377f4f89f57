import type { Instant } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'
import type { StatusOf } from './apply-status.ts'
import { storeReportedOf } from './store-reported.ts'

/** A status that could not be applied yet. */
export interface Postponed extends StatusOf {
  /** How often it was tried before. */
  readonly tries: number
}

// Most attempts end within this, and then there is nothing to wait for any more.
const SHORTEST_MS = 200
// An attempt may stay open for as long as its lane stands still. Trying more often than this gains nothing.
const LONGEST_MS = 60_000

/**
 * Stores anew what is to be tried again later. It waits half as long as it has waited already, so that it comes in time
 * for what ends soon and costs little for what does not. Resolves with the shortest wait, in milliseconds.
 */
export async function storePostponed(
  memory: ChannelState,
  postponed: readonly Postponed[],
  { taker, now }: { readonly taker: string | null; readonly now: Instant },
): Promise<number> {
  let shortestMs = Number.POSITIVE_INFINITY
  const groups = Map.groupBy(postponed, ({ connectionId, others, tries, receivedAt }) =>
    JSON.stringify([connectionId, others, tries, receivedAt]),
  )
  const additions = [...groups.values()].map(async (group) => {
    const [first] = group
    if (!first) return
    const { connectionId, others, tries, receivedAt } = first
    const waitMs = Math.min(Math.max((now - receivedAt) / 2, SHORTEST_MS), LONGEST_MS)
    shortestMs = Math.min(shortestMs, waitMs)
    const report = { statuses: group.map(({ status }) => status), writers: [], numbers: [] }
    const storing = { taker, receivedAt, tries: tries + 1, remindAt: now + Math.round(waitMs) }
    await storeReportedOf(memory, { connectionId, others, report }, storing)
  })
  await Promise.all(additions)
  return shortestMs
}
