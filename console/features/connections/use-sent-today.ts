import { useSyncExternalStore } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { followMidnight, idsToCount, lastMidnight, sentOf } from './sent-today.ts'

const COUNTED_EVERY_MS = 10_000

/** What became of the messages that each of these connections accepted since the reader's midnight. */
export function useSentToday(connections: readonly string[]): (id: string) => ReturnType<typeof sentOf> {
  const { id: account } = useAccount()
  const since = useSyncExternalStore(followMidnight, lastMidnight)
  const ids = idsToCount(connections)
  const { data, isError } = useApiQuery(
    'countSent',
    { params: { account }, query: { ids, since } },
    { enabled: ids !== '', keepsPrevious: true, everyMs: COUNTED_EVERY_MS },
  )
  return (id) => sentOf({ data, isError }, id)
}
