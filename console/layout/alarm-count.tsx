import { Badge } from '@mantine/core'
import { useApiQuery } from '../api/queries.ts'

/** How many alarms are open that want something done. */
export function AlarmCount({ account }: { readonly account: string }) {
  const { data } = useApiQuery('readOpenAlarms', { params: { account } })
  const open = data?.items.filter(({ severity }) => severity !== 'info') ?? []
  if (open.length === 0) return null
  const isCritical = open.some(({ severity }) => severity === 'critical')
  return (
    <Badge size="sm" circle={open.length < 10} color={isCritical ? 'red' : 'yellow'} variant="filled" autoContrast>
      {open.length}
    </Badge>
  )
}
