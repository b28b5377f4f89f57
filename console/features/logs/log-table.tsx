import { Code, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { LogEntry } from '../../../src/contract/console/log.ts'
import type { Rows } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { HttpStatus } from '../../components/http-status.tsx'
import { RowLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { StateLabel } from '../../components/state-label.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { stateOf, sumText, TYPE_LABELS, whyOf } from './log-labels.ts'
import type { LogSearch } from './log-search.ts'

interface LogTableProps {
  readonly source: Rows<LogEntry>
  readonly search: LogSearch
  readonly empty: ReactNode
}

export function LogTable({ source, search, empty }: LogTableProps) {
  const { id: account } = useAccount()
  return (
    <DataTable
      caption="Requests to the API, newest first"
      columns={columnsOf(account, search)}
      source={source}
      keyOf={({ id }) => id}
      empty={empty}
    />
  )
}

function columnsOf(account: string, search: LogSearch): readonly Column<LogEntry>[] {
  return [
    {
      key: 'time',
      header: 'Time',
      cell: ({ id, receivedAt }) => (
        <RowLink to="/a/$account/developer/logs/$id" params={{ account, id }} search={search as never}>
          <TimeAgo at={receivedAt} isQuiet />
        </RowLink>
      ),
    },
    { key: 'http', header: 'HTTP', cell: (entry) => <Http entry={entry} /> },
    { key: 'result', header: 'Result', cell: (entry) => <Result entry={entry} /> },
    { key: 'numbers', header: 'From → To', cell: (entry) => <Numbers entry={entry} /> },
    { key: 'type', header: 'Type', cell: ({ type }) => (type === null ? '–' : (TYPE_LABELS[type] ?? type)) },
    { key: 'token', header: 'Token', cell: ({ token }) => <Text size="sm">{token?.name ?? '–'}</Text> },
    {
      key: 'duration',
      header: 'Duration',
      align: 'right',
      cell: ({ tookMs }) => (tookMs === null ? '–' : `${tookMs} ms`),
    },
    { key: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempts }) => attempts ?? '–' },
  ]
}

function Http({ entry: { status, code, name, madeBy } }: { readonly entry: LogEntry }) {
  if (status === null) return <Text size="sm">{madeBy === null ? '–' : `By ${madeBy}`}</Text>
  return (
    <>
      <HttpStatus status={status} />
      <Text size="xs" c="dimmed" ff="monospace" style={{ whiteSpace: 'nowrap' }}>
        {code} {name}
      </Text>
    </>
  )
}

function Result({ entry }: { readonly entry: LogEntry }) {
  const why = whyOf(entry)
  return (
    <>
      {stateOf(entry) === 'GONE' ? <Text size="sm">Its message is gone</Text> : <StateLabel state={stateOf(entry)} />}
      {entry.summed ? <Text size="sm">{sumText(entry.summed.requests)}, not listed one by one</Text> : null}
      {entry.outcome === 'repeated' ? (
        <Text size="xs" c="dimmed">
          Asked for again
        </Text>
      ) : null}
      {why === null ? null : (
        <Text size="xs" c="dimmed" maw={260}>
          {why}
        </Text>
      )}
    </>
  )
}

function Numbers({ entry: { from, to, outcome } }: { readonly entry: LogEntry }) {
  // For a refused request these may have any value.
  if (outcome === 'refused') {
    return (
      <Text size="sm" lineClamp={2} maw={260} style={{ overflowWrap: 'anywhere' }}>
        <Written text={from} /> → <Written text={to} />
      </Text>
    )
  }
  return (
    <Text size="sm" component="div">
      {from === null ? '–' : <MaskedNumber number={from} />} →
      <br />
      {to === null ? '–' : <MaskedNumber number={to} />}
    </Text>
  )
}

function Written({ text }: { readonly text: string | null }) {
  if (text === null) return '–'
  return /^\d{7,15}$/.test(text) ? <MaskedNumber number={text} /> : <Code>{text.slice(0, 40)}</Code>
}
