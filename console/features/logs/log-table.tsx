import { Code, Text, VisuallyHidden } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { WaitingPlaceView } from '../../../src/contract/console/lane-page.ts'
import type { LogRow } from '../../../src/contract/console/log.ts'
import { type Rows, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { HttpStatus } from '../../components/http-status.tsx'
import { dayText } from '../../components/instants.ts'
import { RowLink } from '../../components/links.tsx'
import { MaskedNumber } from '../../components/masked-number.tsx'
import { MessagePreview } from '../../components/message-preview.tsx'
import { type TimeDisplay, useTimeDisplay } from '../../components/stored-setting.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { previewOf } from './log-labels.ts'
import type { LogSearch } from './log-search.ts'
import classes from './logs.module.css'
import { RowMenu } from './row-menu.tsx'
import { RowResult } from './row-result.tsx'

// As many as the server answers at once; further down, places matter less.
const MOST_PLACES = 100

interface LogTableProps {
  readonly source: Rows<LogRow>
  readonly search: LogSearch
  readonly empty: ReactNode
}

export function LogTable({ source, search, empty }: LogTableProps) {
  const { id: account, can } = useAccount()
  const [display] = useTimeDisplay()
  const places = usePlaces(source.rows)
  const now = Date.now()
  // On a list of today alone, a heading for the day would say nothing.
  const hasDays = source.rows.some(({ receivedAt }) => dayText(receivedAt, now) !== 'Today')
  const hasStatus = source.rows.some(({ status }) => status !== null && status !== 200)
  return (
    <DataTable
      caption="Requests to the API, newest first"
      columns={columnsOf({ account, search, display, places, hasDays, hasStatus, hasPreview: can('developer') })}
      source={source}
      keyOf={({ id }) => id}
      {...(hasDays ? { groupOf: ({ receivedAt }: LogRow) => dayText(receivedAt, now) } : {})}
      empty={empty}
      isFixed
    />
  )
}

interface Shown {
  readonly account: string
  readonly search: LogSearch
  readonly display: TimeDisplay
  readonly hasPreview: boolean
  readonly places: ReadonlyMap<string, WaitingPlaceView>
  readonly hasDays: boolean
  /** Whether any row has another HTTP status than 200. Accepted is not sent: the result beside it says more. */
  readonly hasStatus: boolean
}

const PLACES_EVERY_MS = 5_000

/** Where the rows stand that wait or are being sent. */
function usePlaces(rows: readonly LogRow[]): ReadonlyMap<string, WaitingPlaceView> {
  const { id: account } = useAccount()
  const waiting = rows
    .filter(({ state, isPaused }) => state === 'SENDING' || (state === 'QUEUED' && !isPaused))
    .slice(0, MOST_PLACES)
  const ids = waiting.map(({ messageId }) => messageId).join(',')
  const asked = useApiQuery(
    'listPlaces',
    { params: { account }, query: { ids } },
    { enabled: ids !== '', keepsPrevious: true, everyMs: PLACES_EVERY_MS, isLive: false },
  )
  return useMemo(() => new Map(asked.data?.items.map((place) => [place.id, place])), [asked.data])
}

const PREVIEW: Column<LogRow> = {
  key: 'message',
  header: 'Message',
  card: 'text',
  cell: (row) =>
    row.type === null && row.preview === null ? null : (
      <MessagePreview type={row.type ?? 'message'} preview={previewOf(row)} />
    ),
}

const STATUS: Column<LogRow> = {
  key: 'http',
  header: 'HTTP',
  width: 64,
  hideBelow: 1200,
  card: ({ status }) => (status === 200 ? 'hidden' : 'line'),
  cell: ({ status }) => (status === null ? null : <HttpStatus status={status} />),
}

function columnsOf({
  account,
  search,
  display,
  hasPreview,
  places,
  hasDays,
  hasStatus,
}: Shown): readonly Column<LogRow>[] {
  return [
    {
      key: 'time',
      header: 'Time',
      width: display === 'utc' ? 220 : display === 'local' ? 180 : 'var(--log-time)',
      card: 'aside',
      cell: ({ id, receivedAt }) => (
        <RowLink to="/a/$account/developer/logs/$id" params={{ account, id }} search={search as never} fw={400}>
          <TimeAgo at={receivedAt} isQuiet isClock={hasDays ? 'without-day' : true} />
        </RowLink>
      ),
    },
    {
      key: 'result',
      header: 'Result',
      width: 'var(--log-result)',
      card: 'head',
      wraps: true,
      cell: (row) => <RowResult row={row} place={places.get(row.messageId ?? '')} />,
    },
    {
      key: 'numbers',
      header: 'From, to',
      width: 'var(--log-numbers)',
      card: 'text',
      cell: (row) => <Numbers row={row} />,
    },
    ...(hasPreview ? [PREVIEW] : []),
    {
      key: 'token',
      header: 'Token',
      width: 104,
      hideBelow: 1400,
      card: 'hidden',
      cell: ({ token, madeBy }) => (
        <Text span size="sm" c="dimmed">
          {token?.name ?? (madeBy === null ? '–' : `By ${madeBy}`)}
        </Text>
      ),
    },
    ...(hasStatus ? [STATUS] : []),
    {
      key: 'menu',
      header: <VisuallyHidden>Actions</VisuallyHidden>,
      width: 56,
      card: 'hidden',
      cell: (row) => <RowMenu row={row} />,
    },
  ]
}

function Numbers({ row: { from, to, connectionName } }: { readonly row: LogRow }) {
  if (from === null && to === null) return '–'
  return (
    <span className={classes['numbers'] ?? ''} title={connectionName === null ? undefined : `From ${connectionName}`}>
      <span className={classes['from'] ?? ''}>
        <Written text={from} /> →{' '}
      </span>
      <Text span inherit fw={600}>
        <Written text={to} />
      </Text>
    </span>
  )
}

/** For a refused request, these may have any value. */
function Written({ text }: { readonly text: string | null }) {
  if (text === null) return '–'
  return /^\d{4,15}$|•/.test(text) ? <MaskedNumber number={text} /> : <Code title={text}>{text.slice(0, 40)}</Code>
}
