import type { ConnectionId } from '../../../core/ids.ts'
import type { ReportedStatus, StoredReports } from './reported.ts'

/** The recipient has not written for 24 hours: only a template may go (page “Error codes”). */
export const WINDOW_CLOSED = 131047

// The most work of one connection per query, where a report counts 1. That much takes less than a second, and
// reports of other connections that came meanwhile wait no longer than that.
const MOST_PER_QUERY = 1_000
// What may open storage anew, to send again, or asks it several times, one after the other.
const COSTS_MORE = 20

interface OfConnection {
  readonly connectionId: ConnectionId
}

/**
 * The entries that one query applies: of each connection the first ones, up to the limit together, and at
 * least one. The rest stays where it is.
 */
export function takeInTurns<Entry extends OfConnection & { readonly stored: StoredReports }>(
  entries: readonly Entry[],
): readonly Entry[] {
  const costs = new Map<ConnectionId, number>()
  return entries.filter(({ connectionId, stored }) => {
    const before = costs.get(connectionId) ?? 0
    const cost = before + costOf(stored)
    // Also of one that is left, so that none that came after it overtakes it.
    costs.set(connectionId, cost)
    return before === 0 || cost <= MOST_PER_QUERY
  })
}

/** One of each connection, then the next of each; those of one connection stay in their order. */
export function byTurns<One extends OfConnection>(all: readonly One[]): readonly One[] {
  const turnOf = new Map<ConnectionId, number>()
  const turns: One[][] = []
  for (const one of all) {
    const turn = turnOf.get(one.connectionId) ?? 0
    turnOf.set(one.connectionId, turn + 1)
    const others = turns[turn]
    if (others) others.push(one)
    else turns.push([one])
  }
  return turns.flat()
}

function costOf({ statuses, writers, numbers }: StoredReports): number {
  const costOfStatus = ({ kind, code }: ReportedStatus) =>
    kind === 'failed' && code === WINDOW_CLOSED ? COSTS_MORE : 1
  return statuses.reduce((sum, status) => sum + costOfStatus(status), writers.length + numbers.length * COSTS_MORE)
}
