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
 * How fast lanes went of late. Messages are in no order of their publication, but those of one lane are published in
 * their order: so the last ones stand right before its head, or among the newest of all when nothing waits. One looks
 * back over a fixed number of rows, because among those of many other lanes they may be rare.
 */
export async function measurePaces(
  { tables, engine }: Reading,
  { accountId, lanes, headOf }: Wanted,
  { now, rowsBack }: Effort,
): Promise<ReadonlyMap<ConnectionId, MeasuredPace>> {
  const looks = lanes.map((id) => ({ id, before: headOf(id) }))
  const found = await engine.publishedBefore(tables, { accountId, lanes: looks, rows: rowsBack })
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
