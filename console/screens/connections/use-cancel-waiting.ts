import { useAct } from '../../api/queries.ts'
import { useAccount } from '../../parts/account.tsx'

interface WantedCancelling {
  /** Only what was accepted longer ago than that, in milliseconds; null: all that waits. */
  readonly olderThanMs: number | null
  /** After each part but the last: how many are cancelled so far. */
  readonly onPart: (cancelled: number) => void
}

/** Takes out what waits on a connection, part by part. Resolves to how many those were. */
export function useCancelWaiting(id: string): (wanted: WantedCancelling) => Promise<number> {
  const { id: account } = useAccount()
  const cancel = useAct('cancelWaiting')
  const params = { account, id }
  return async ({ olderThanMs, onPart }) => {
    let part = await cancel.mutateAsync({
      params,
      body: { upTo: null, ...(olderThanMs === null ? {} : { olderThanMs }) },
    })
    let cancelled = part.cancelled
    while (part.upTo !== null) {
      onPart(cancelled)
      part = await cancel.mutateAsync({ params, body: { upTo: part.upTo } })
      cancelled += part.cancelled
    }
    return cancelled
  }
}
