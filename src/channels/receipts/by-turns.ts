import type { ConnectionId } from '../../core/ids.ts'

/** The most work of one connection per query. It takes less than a second, so others wait no longer than that. */
const MOST_PER_QUERY = 1_000

interface OfConnection {
  readonly connectionId: ConnectionId
}

/**
 * The entries that are applied after one query: the first ones of each connection, up to the limit of work, but at least one. The
 * rest stays where it is.
 */
export function takeInTurns<Entry extends OfConnection>(
  entries: readonly Entry[],
  costOf: (entry: Entry) => number,
): readonly Entry[] {
  const costs = new Map<ConnectionId, number>()
  return entries.filter((entry) => {
    const before = costs.get(entry.connectionId) ?? 0
    const cost = before + costOf(entry)
    // An entry that is left counts as well, so that no later one overtakes it.
    costs.set(entry.connectionId, cost)
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
