import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo } from 'react'
import { addressOf } from '../api/call.ts'
import { LiveStream } from '../api/live.ts'
import { serviceAnswers } from './load-later.ts'
import { LiveContext } from './use-live.ts'

interface LiveProviderProps {
  readonly account: string
  readonly onSignedOut: () => void
  readonly children: ReactNode
}

/** Keeps the data on screen fresh: reloads it when the server reports a change. */
export function LiveProvider({ account, onSignedOut, children }: LiveProviderProps) {
  const client = useQueryClient()
  const stream = useMemo(() => {
    const onChanged = () =>
      void client.invalidateQueries({
        predicate: ({ meta, state }) => meta?.['isLive'] !== false && !hasTooManyPages(state.data, meta?.['livePages']),
      })
    const given = { onChanged, onSignedOut, answers: serviceAnswers }
    return new LiveStream(addressOf('watchAccount', { params: { account } }), given)
  }, [account, client, onSignedOut])
  useEffect(() => {
    stream.start()
    return () => stream.stop()
  }, [stream])
  return <LiveContext value={stream}>{children}</LiveContext>
}

function hasTooManyPages(data: unknown, limit: unknown): boolean {
  const pages = (data as { readonly pages?: readonly unknown[] } | undefined)?.pages
  return typeof limit === 'number' && (pages?.length ?? 0) > limit
}
