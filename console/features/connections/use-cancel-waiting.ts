import type { TakenOutView } from '../../../src/contract/console/connections.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'

interface WantedCancelling {
  /** Only messages accepted longer ago than this, in milliseconds; null: all waiting messages. */
  readonly olderThanMs: number | null
  /** Called after each part but the last, with the number of removed messages so far. */
  readonly onPart: (taken: number) => void
}

/** Cancels the waiting messages of a connection in parts. Resolves to their results. */
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
