import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import type { Rows } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { RowLink } from '../../components/links.tsx'
import { barName, logOf, numberText, shownResults } from './results.ts'

type Bar = OverviewReply['bars'][number]

interface ResultTableProps {
  readonly seen: OverviewReply
  /** The newest first. */
  readonly bars: Rows<Bar>
}

export function ResultTable({ seen, bars }: ResultTableProps) {
  const { id: account } = useAccount()
  return (
    <DataTable
      caption="What became of messages, by the time at which they were accepted"
      columns={columnsOf(account, seen)}
      source={bars}
      keyOf={({ at }) => String(at)}
      empty={null}
    />
  )
}

function columnsOf(account: string, seen: OverviewReply): readonly Column<Bar>[] {
  return [
    {
      key: 'from',
      header: 'From',
      cell: ({ at }) => (
        <RowLink to="/a/$account/developer/logs" params={{ account }} search={logOf(at, seen) as never}>
          {barName(at, seen)}
        </RowLink>
      ),
    },
    ...shownResults(seen.totals).map(
      ({ key, word }): Column<Bar> => ({
        key,
        header: word,
        align: 'right',
        card: (bar) => (bar[key] > 0 ? 'line' : 'hidden'),
        cell: (bar) => numberText(bar[key]),
      }),
    ),
  ]
}
