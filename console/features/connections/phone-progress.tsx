import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { showToast } from '../../components/toast.ts'

interface PhoneProgressProps {
  readonly connection: string
  readonly request: string
  readonly onEnd: () => void
}

const WATCHED_EVERY_MS = 1_000

/** Watches until it has ended, and says how. */
export function PhoneProgress({ connection, request, onEnd }: PhoneProgressProps) {
  const { id: account } = useAccount()
  const client = useQueryClient()
  const params = { account, id: connection, request }
  const { data, error } = useApiQuery('watchPhone', { params }, { everyMs: WATCHED_EVERY_MS, isLive: false })
  const end = data?.end ?? null
  const sentence = end ? [end.sentence, end.nextStep].filter(Boolean).join(' ') : (error?.message ?? null)
  const isGood = end?.isDone === true
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it has ended
  useEffect(() => {
    if (sentence === null) return
    showToast(sentence, isGood ? 'good' : 'bad')
    void client.invalidateQueries({ queryKey: ['readConnection'] })
    onEnd()
  }, [sentence])
  return null
}
