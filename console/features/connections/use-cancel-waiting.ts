import type { TakenOutView } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'

interface WantedCancelling {
  /** Only what was accepted longer ago than that, in milliseconds; null: all that waits. */
  readonly olderThanMs: number | null
  /** After each part but the last: how many are taken out so far. */
  readonly onPart: (taken: number) => void
}

/** Takes out what waits on a connection, part by part. Resolves to what became of them. */
export function useCancelWaiting(id: string): (wanted: WantedCancelling) => Promise<TakenOutView> {
  const { id: account } = useAccount()
  const cancel = useApiMutation('cancelWaiting')
  const params = { account, id }
  return async ({ olderThanMs, onPart }) => {
    let part = await cancel.mutateAsync({
      params,
      body: { upTo: null, ...(olderThanMs === null ? {} : { olderThanMs }) },
    })
    let { cancelled, unconfirmed } = part
    while (part.upTo !== null) {
      onPart(cancelled + unconfirmed)
      part = await cancel.mutateAsync({ params, body: { upTo: part.upTo } })
      cancelled += part.cancelled
      unconfirmed += part.unconfirmed
    }
    return { cancelled, unconfirmed }
  }
}
