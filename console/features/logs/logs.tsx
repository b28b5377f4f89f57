import { Button, Group, SegmentedControl, Skeleton, Stack, Text } from '@mantine/core'
import { Download } from 'lucide-react'
import { Suspense } from 'react'
import type { LogCounts } from '../../../src/contract/console/log.ts'
import type { Totals } from '../../../src/contract/console/overview.ts'
import { addressOf } from '../../api/call.ts'
import { useApiMutation, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { localDateTime } from '../../components/instants.ts'
import { ButtonLink } from '../../components/links.tsx'
import { lazily } from '../../components/load-later.ts'
import { MenuButton } from '../../components/menu-button.tsx'
import { Page } from '../../components/page.tsx'
import { saveFile } from '../../components/save-file.ts'
import { useSearchState } from '../../components/search-state.ts'
import { showErrorToast } from '../../components/toast.ts'
import { FilterChips } from './filter-chips.tsx'
import { LogFilters } from './log-filters.tsx'
import { STATE_LABELS, sumText } from './log-labels.ts'
import {
  countedFilter,
  isFiltered,
  type LogSearch,
  logSearch,
  NO_FILTERS,
  QUICK_FILTERS,
  quickFilterOf,
  RANGES,
  rangeOf,
  SHOWN_RANGES,
  shownResults,
  toFilter,
} from './log-search.ts'
import { LogTable } from './log-table.tsx'
import classes from './logs.module.css'
import { SavedViews } from './saved-views.tsx'
import { useLogFilter } from './use-log-filter.ts'
import { useLogRows } from './use-log-rows.ts'

// It comes a little later than the list.
const Histogram = lazily(async () => (await import('./histogram.tsx')).Histogram)

export function Logs() {
  const [search, change] = useSearchState(logSearch)
  const { source, scannedBackTo, isSearching, stop } = useLogRows(search)
  const counts = useLogCounts(search)
  const totals = counts?.totals ?? null
  const range = rangeOf(search)
  // The range stays: it is chosen apart from the filters.
  const clear = () => change({ ...NO_FILTERS, view: undefined }, { isStep: true })
  return (
    <Page
      title="API logs"
      about={
        <>
          {totals === null
            ? null
            : `${sumText(totals.accepted + totals.refused)} ${range === null || range === 'all' ? 'in this time' : `in the ${RANGES[range].toLowerCase()}`}. `}
          <b>Result</b> shows whether a message was sent.
        </>
      }
      actions={
        <>
          <CopyButton value={location.href} label="Copy the link to this list" />
          <SavedViews search={search} />
          <ExportMenu search={search} />
          <SegmentedControl
            aria-label="How far back"
            size="xs"
            value={range ?? ''}
            data={RANGE_CHOICES}
            onChange={(next) => change({ range: next, since: undefined, until: undefined }, { isStep: true })}
          />
        </>
      }
    >
      <Stack gap="sm" className={classes['list'] ?? ''}>
        {counts === null ? null : (
          <Suspense fallback={<Skeleton h={80} />}>
            <Histogram
              counts={counts}
              shown={shownResults(search)}
              onChoose={(times) => change({ ...times, range: undefined }, { isStep: true })}
            />
          </Suspense>
        )}
        <Group gap="xs">
          <QuickFilters search={search} change={change} totals={totals} />
          <LogFilters search={search} change={change} />
        </Group>
        <FilterChips search={search} change={change} onClear={clear} />
        {isSearching && scannedBackTo !== null ? (
          <Group gap="sm" role="status">
            <Text size="sm">
              Searching further back: everything since {localDateTime(scannedBackTo)} has been searched.
            </Text>
            <Button variant="default" size="compact-sm" onClick={stop}>
              Stop
            </Button>
          </Group>
        ) : null}
        <LogTable
          source={source}
          search={search}
          empty={
            <Nothing
              search={search}
              onClear={clear}
              onAll={() => change({ range: 'all' }, { isStep: true })}
              onLonger={() => change({ range: '30d' }, { isStep: true })}
            />
          }
        />
      </Stack>
    </Page>
  )
}

interface QuickFiltersProps {
  readonly search: LogSearch
  readonly change: (part: Readonly<Record<string, unknown>>, how: { readonly isStep: true }) => void
  readonly totals: Totals | null
}

/** One group of results or all, each with its count. */
function QuickFilters({ search, change, totals }: QuickFiltersProps) {
  const data = QUICK_FILTERS.map(({ value, label, group, states, counts }) => ({
    value,
    label: (
      <span title={states.length > 1 ? states.map((state) => STATE_LABELS[state]).join(', ') : undefined}>
        {group === null ? null : <i data-fill={group} data-swatch />}
        {label}
        {totals === null ? null : (
          <span className={classes['count']}>
            {counts.reduce((sum, key) => sum + totals[key], 0).toLocaleString('en')}
          </span>
        )}
      </span>
    ),
  }))
  return (
    <SegmentedControl
      aria-label="Which requests"
      size="xs"
      className={classes['quick'] ?? ''}
      data={data}
      value={quickFilterOf(search)}
      onChange={(value) => {
        const chosen = QUICK_FILTERS.find((one) => one.value === value)
        change({ view: undefined, result: undefined, state: undefined, ...chosen?.filter }, { isStep: true })
      }}
    />
  )
}

const RANGE_CHOICES = SHOWN_RANGES.map((value) => ({
  value,
  label: value === 'all' ? 'All' : value.replace(/(?=[hd])/, ' '),
}))

function ExportMenu({ search }: { readonly search: LogSearch }) {
  const { id: account } = useAccount()
  const check = useApiMutation('checkExport')
  const take = async (format: 'csv' | 'ndjson') => {
    try {
      await check.mutateAsync({ params: { account } })
    } catch (error) {
      return showErrorToast(error)
    }
    const query = toFilter(search, Date.now())
    saveFile(addressOf('exportLog', { params: { account }, query: { ...query, format } }))
  }
  return (
    <MenuButton
      button={
        <Button variant="default" leftSection={<Download size={16} aria-hidden />}>
          Export
        </Button>
      }
      entries={[
        { label: 'CSV, for spreadsheets', onClick: () => void take('csv') },
        { label: 'NDJSON, for programs', onClick: () => void take('ndjson') },
      ]}
    />
  )
}

interface NothingProps {
  readonly search: LogSearch
  readonly onClear: () => void
  readonly onAll: () => void
  readonly onLonger: () => void
}

function Nothing({ search, onClear, onAll, onLonger }: NothingProps) {
  const { id: account } = useAccount()
  const range = rangeOf(search)
  const isShort = range !== null && range !== 'all'
  if (isFiltered(search)) {
    const where = isShort ? ` in the ${RANGES[range].toLowerCase()}` : ''
    return (
      <EmptyState
        kind="no-match"
        text={`No request matches${where}.`}
        onClear={onClear}
        action={isShort && range !== '30d' ? <Button onClick={onLonger}>Show 30 days</Button> : null}
      />
    )
  }
  return (
    <EmptyState
      kind="nothing-yet"
      title={isShort ? `No requests in the ${RANGES[range].toLowerCase()}` : 'No requests yet'}
      text="Each request to the API stands here as soon as it was answered, the refused ones too. Send one: it takes a token and one call."
      action={
        <Group gap="xs">
          {isShort ? (
            <Button variant="default" onClick={onAll}>
              Show all
            </Button>
          ) : null}
          <ButtonLink to="/a/$account/developer/quickstart" params={{ account }}>
            Open the quickstart
          </ButtonLink>
        </Group>
      }
    />
  )
}

const COUNTED_EVERY_MS = 10_000

/** How many entries match, by result and over time. Null: it is unknown, or too many to count. */
function useLogCounts(search: LogSearch): LogCounts | null {
  const { id: account } = useAccount()
  const counted = countedFilter(search)
  const filter = useLogFilter(counted)
  const hasBegin = rangeOf(counted) !== 'all' && filter.since !== undefined
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
  const asked = useApiQuery(
    'countLog',
    { params: { account }, query: { ...given, offset: -new Date().getTimezoneOffset() } },
    // With the rows, so that both say the same. A search in texts reads whole bodies: too much for every change.
    { enabled: hasBegin, keepsPrevious: true, everyMs: COUNTED_EVERY_MS, isLive: counted.text === undefined },
  )
  return hasBegin ? (asked.data?.counts ?? null) : null
}
