import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { MeasuredPace } from '../../../core/ports/console/lanes.ts'
import type { PublishedBefore } from '../engine.ts'
import type { Reading } from '../store.ts'

const MINUTE_MS = 60_000
const NOTHING: PublishedBefore = { times: [], isWhole: true }

interface Wanted {
  readonly accountId: AccountId
  readonly lanes: readonly ConnectionId[]
  readonly headOf: (id: ConnectionId) => Sequence | null
}

interface Effort {
  readonly now: Instant
  readonly rowsBack: number
}

/**
 * The recent pace of lanes. The messages of one lane are published in order, so the last published ones stand right before
 * its head, or among the newest messages of all when nothing waits. The scan covers a fixed number of rows, because many
 * other lanes may lie in between.
 */
export async function measurePaces(
  { tables, engine }: Reading,
  { accountId, lanes, headOf }: Wanted,
  { now, rowsBack }: Effort,
): Promise<ReadonlyMap<ConnectionId, MeasuredPace>> {
  const scans = lanes.map((id) => ({ id, before: headOf(id) }))
  const found = await engine.publishedBefore(tables, { accountId, lanes: scans, rows: rowsBack })
  return new Map(lanes.map((id) => [id, toPace(found.get(id) ?? NOTHING, now)]))
}

function toPace({ times, isWhole }: PublishedBefore, now: Instant): MeasuredPace {
  const lately = times.filter((at) => at > now - MINUTE_MS)
  const spanMs = Math.max(...lately) - Math.min(...lately)
  return {
    publishedInLastMinute: {
      count: lately.length,
      isMore: !isWhole && lately.length > 0 && lately.length === times.length,
    },
    lastPublishedAt: times.length === 0 ? null : Math.max(...times),
    perMessageMs: lately.length < 2 ? null : spanMs / (lately.length - 1),
  }
}

export const NO_PACE: MeasuredPace = toPace(NOTHING, 0)
