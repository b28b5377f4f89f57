import { createHash } from 'node:crypto'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'
import { REPORT_KIND, type Report, type StoredReports } from './reported.ts'

// A query reads up to 200 entries, so 200 full ones are 3 MB. Small enough for that, large enough that the largest batch
// that Meta sends makes less than a hundred.
const MOST_CHARACTERS = 16_384

export interface ReportedOf {
  readonly connectionId: ConnectionId
  readonly others: readonly ConnectionId[]
  readonly report: Report
}

interface Storing {
  readonly taker: string | null
  readonly receivedAt: Instant
  /** 0 when it has just come in. */
  readonly tries: number
  /** When it is to be applied. */
  readonly remindAt: Instant
}

/**
 * Durable when it resolves; rejects with `StorageUnavailable`, and then some of it may be stored, which is harmless. What
 * waits already is not stored twice: an entry is known by what it says.
 */
export async function storeReportedOf(
  memory: ChannelState,
  { connectionId, others, report }: ReportedOf,
  { taker, receivedAt, tries, remindAt }: Storing,
): Promise<void> {
  const additions = partsOf(newestOf(report)).map((part) => {
    const content = JSON.stringify({ ...part, others, tries })
    const stored: StoredReports = { ...part, others, taker, receivedAt, tries }
    const key = createHash('sha256').update(content).digest('base64url')
    return memory.add(REPORT_KIND, { connectionId, key, value: JSON.stringify(stored), at: remindAt, remindAt })
  })
  await Promise.all(additions)
}

/** Without repeats within one callback: of each writer and of each fact about a number only the latest counts. */
function newestOf({ statuses, writers, numbers }: Report): Report {
  return {
    statuses,
    writers: lastOfEach(writers, ({ from }) => from),
    numbers: lastOfEach(numbers, (change) => Object.keys(change).toSorted().join()),
  }
}

function lastOfEach<One extends { readonly at: Instant | null }>(
  all: readonly One[],
  keyOf: (one: One) => string,
): readonly One[] {
  // Without a time it counts from when it came, and nothing is later than that.
  const timeOf = ({ at }: One) => at ?? Number.POSITIVE_INFINITY
  const last = new Map<string, One>()
  for (const one of all) {
    const before = last.get(keyOf(one))
    if (!before || timeOf(one) > timeOf(before)) last.set(keyOf(one), one)
  }
  return [...last.values()]
}

/** In the order in which they were reported, each not much larger than the limit. */
function partsOf(report: Report): readonly Report[] {
  const parts: Report[] = []
  let part = emptyReports()
  let characters = 0
  for (const field of ['statuses', 'writers', 'numbers'] as const) {
    for (const one of report[field]) {
      const length = JSON.stringify(one).length
      if (characters > 0 && characters + length > MOST_CHARACTERS) {
        parts.push(part)
        part = emptyReports()
        characters = 0
      }
      ;(part[field] as unknown[]).push(one)
      characters += length
    }
  }
  return characters > 0 ? [...parts, part] : parts
}

function emptyReports(): Report {
  return { statuses: [], writers: [], numbers: [] }
}
