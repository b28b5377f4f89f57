import { useEffect, useState } from 'react'
import type { LogRow } from '../../../src/contract/console/log.ts'
import type { InputFor } from '../../api/call.ts'
import { type PagedRows, type Rows, useApiPages } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import type { LogSearch } from './log-search.ts'
import { useLogFilter } from './use-log-filter.ts'

const PAGE_ROWS = 50

interface LogRows {
  readonly source: Rows<LogRow>
  /** While it searches further back by itself: the time it has reached. */
  readonly scannedBackTo: number | null
  readonly isSearching: boolean
  readonly stop: () => void
}

/**
 * The rows of a search. Rare entries may be far back, and the server searches one part at a time: the page continues by
 * itself until it has enough rows, or the person stops it.
 */
export function useLogRows(search: LogSearch): LogRows {
  const { id: account } = useAccount()
  const key = JSON.stringify(search)
  const filter = useLogFilter(search)
  const pages: PagedRows<'listLog'> = useApiPages('listLog', (cursor) => logInput(account, filter, cursor))
  const [goal, setGoal] = useState({ key, rows: PAGE_ROWS })
  const rows = goal.key === key ? goal.rows : PAGE_ROWS
  const count = pages.rows.length
  const mayGoOn = pages.hasOlder && count < rows && !pages.problem
  const { isLoadingOlder, loadOlder } = pages
  useEffect(() => {
    if (mayGoOn && !isLoadingOlder) loadOlder()
  })
  return {
    source: {
      ...pages,
      loadOlder: () => {
        setGoal({ key, rows: count + PAGE_ROWS })
        loadOlder()
      },
    },
    scannedBackTo: pages.pages.at(-1)?.scannedBackTo ?? null,
    isSearching: mayGoOn,
    stop: () => setGoal({ key, rows: 0 }),
  }
}

function logInput(
  account: string,
  filter: ReturnType<typeof useLogFilter>,
  cursor: string | undefined,
): InputFor<'listLog'> {
  const given = { ...filter, limit: PAGE_ROWS, cursor }
  // Missing and undefined are the same for the server, but not for the types.
  const query = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { params: { account }, query }
}
