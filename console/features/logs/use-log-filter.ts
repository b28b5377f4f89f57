import { useMemo } from 'react'
import { useLive } from '../../components/use-live.ts'
import { type LogSearch, toFilter } from './log-search.ts'

type LogFilter = ReturnType<typeof toFilter>

/** The last query of each search. */
const asked = new Map<string, LogFilter>()

/**
 * The query to the server. Its range counts from when the page is opened. While the stream is lost, the last query of the same
 * search is used, because only its rows are there.
 */
export function useLogFilter(search: LogSearch): LogFilter {
  const isLost = useLive().lostAt !== null
  const key = JSON.stringify(search)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the search by its content, and its time once for each
  return useMemo(() => {
    const filter = (isLost ? asked.get(key) : undefined) ?? toFilter(search, Date.now())
    asked.set(key, filter)
    return filter
  }, [key])
}
