import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'

const COUNTED_EVERY_MS = 10_000

export interface SentToday {
  readonly sent: number
  readonly notSent: number
}

/** What became of the messages that each of these connections accepted since the reader's midnight. Undefined: not counted yet. */
export function useSentToday(connections: readonly string[]): (id: string) => SentToday | undefined {
  const { id: account } = useAccount()
  const ids = connections.join(',')
  const { data } = useApiQuery(
    'countSent',
    { params: { account }, query: { ids, since: new Date().setHours(0, 0, 0, 0) } },
    { enabled: ids !== '', keepsPrevious: true, everyMs: COUNTED_EVERY_MS, isLive: false },
  )
  return (id) => {
    if (!data?.isComplete) return undefined
    return data.items.find(({ connectionId }) => connectionId === id) ?? { sent: 0, notSent: 0 }
  }
}
