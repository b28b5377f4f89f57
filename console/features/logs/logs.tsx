import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { addressOf } from '../../api/call.ts'
import { useApiMutation } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { localDateTime } from '../../components/instants.ts'
import { ButtonLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { saveFile } from '../../components/save-file.ts'
import { useSearchState } from '../../components/search-state.ts'
import { showErrorToast } from '../../components/toast.ts'
import { FilterChips } from './filter-chips.tsx'
import { LogFilters } from './log-filters.tsx'
import { isFiltered, type LogSearch, logSearch, NO_FILTERS, toFilter } from './log-search.ts'
import { LogTable } from './log-table.tsx'
import { useLogRows } from './use-log-rows.ts'

const TABS = [
  { value: 'all', label: 'All' },
  { value: 'attention', label: 'Needs attention' },
  { value: 'failed', label: 'Failed' },
  { value: 'rejected', label: 'Rejected' },
]

export function Logs() {
  const [search, change] = useSearchState(logSearch)
  const { source, scannedBackTo, isLooking, stop } = useLogRows(search)
  const clear = () => change({ ...NO_FILTERS, view: undefined }, { isStep: true })
  return (
    <Page
      title="API logs"
      about="Every request with a token of this account, and what became of its message. 200 says only that it was taken in: the result stands beside it."
      actions={<ExportActions search={search} />}
    >
      <Stack gap="sm">
        <Group data-filters align="flex-end">
          <SegmentedControl
            aria-label="Which requests"
            data={TABS}
            value={search.view}
            onChange={(view) => change({ view: view === 'all' ? undefined : view }, { isStep: true })}
            styles={{ root: { maxWidth: '100%', overflowX: 'auto' } }}
          />
          <LogFilters search={search} change={change} />
        </Group>
        <FilterChips search={search} change={change} onClear={clear} />
      </Stack>
      {isLooking && scannedBackTo !== null ? (
        <Group gap="sm" role="status">
          <Text size="sm">
            Searching further back: everything since {localDateTime(scannedBackTo)} has been searched.
          </Text>
          <Button variant="default" size="compact-sm" onClick={stop}>
            Stop
          </Button>
        </Group>
      ) : null}
      <LogTable source={source} search={search} empty={<Nothing search={search} onClear={clear} />} />
    </Page>
  )
}

function ExportActions({ search }: { readonly search: LogSearch }) {
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
    <>
      <CopyButton value={location.href} label="Copy link" isWide />
      <Button variant="default" onClick={() => void take('csv')}>
        Export CSV
      </Button>
      <Button variant="default" onClick={() => void take('ndjson')}>
        Export NDJSON
      </Button>
    </>
  )
}

const NOTHING_IN_TAB: Readonly<Record<LogSearch['view'], string>> = {
  all: 'Nothing matches.',
  attention: 'Nothing needs attention: of no message is it unknown whether it arrived.',
  failed: 'No message failed or expired.',
  rejected: 'No request was rejected.',
}

function Nothing({ search, onClear }: { readonly search: LogSearch; readonly onClear: () => void }) {
  const { id: account } = useAccount()
  if (search.view !== 'all' || isFiltered(search)) {
    return <EmptyState kind="no-match" text={NOTHING_IN_TAB[search.view]} onClear={onClear} />
  }
  return (
    <EmptyState
      kind="nothing-yet"
      title="No requests yet"
      text="Each request to the API stands here as soon as it was answered, the refused ones too. Send the first one: it takes a token and one call."
      action={
        <ButtonLink to="/a/$account/developer/quickstart" params={{ account }}>
          Open the quickstart
        </ButtonLink>
      }
    />
  )
}
