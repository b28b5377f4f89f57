import type { LogCounts } from '../../../src/contract/console/log.ts'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { countedFilter, type LogSearch, rangeOf } from './log-search.ts'
import { useLogFilter } from './use-log-filter.ts'

const COUNTED_EVERY_MS = 10_000

/** How many entries match, by result and over time. Null: it is unknown, or too many to count. */
export function useLogCounts(search: LogSearch): LogCounts | null {
  const { id: account } = useAccount()
  const counted = countedFilter(search)
  const filter = useLogFilter(counted)
  const hasBegin = rangeOf(counted) !== 'all' && filter.since !== undefined
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  const asked = useApiQuery(
    'countLog',
    { params: { account }, query: { ...given, offset: -new Date().getTimezoneOffset() } },
    // With the rows, so that both say the same. A search in texts reads whole bodies: too much for every change.
    { enabled: hasBegin, keepsPrevious: true, everyMs: COUNTED_EVERY_MS, isLive: counted.text === undefined },
  )
  return hasBegin ? (asked.data?.counts ?? null) : null
}
