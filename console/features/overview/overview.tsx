import { SegmentedControl, Skeleton, Stack } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Suspense } from 'react'
import { rowsOf, useApiQuery } from '../../api/queries.ts'
import { useAccount } from '../../components/account.tsx'
import { lazily } from '../../components/load-later.ts'
import { Page } from '../../components/page.tsx'
import { ProblemNote } from '../../components/problem-note.tsx'
import { useSearchState } from '../../components/search-state.ts'
import { NeedsAttention } from '../attention/needs-attention.tsx'
import { HoldBanner } from './hold-banner.tsx'
import { ResultChart } from './result-chart.tsx'
import { RANGES } from './results.ts'
import { Tiles } from './tiles.tsx'

// Only a new account has steps to do.
const FirstSteps = lazily(async () => (await import('./first-steps.tsx')).FirstSteps)

// Tables bring a tenth of the first view's script, and in most accounts no lane waits.
const WaitingLanes = lazily(async () => (await import('./waiting-lanes.tsx')).WaitingLanes)

// Without zod, which would add a tenth to the code of the first view.
const overviewSearch = {
  parse: (raw: unknown) => {
    const { range, as } = raw as Readonly<Record<string, unknown>>
    return {
      range: RANGES.find(({ value }) => value === range)?.value ?? '24h',
      as: as === 'table' ? ('table' as const) : ('chart' as const),
    }
  },
}
// The stream sends no event at the end of a background count.
const COUNTED_EVERY_MS = 10_000
const SKELETON_AFTER_MS = 200

export function Overview() {
  const { id: account } = useAccount()
  const [search, change] = useSearchState(overviewSearch)
  const offset = -new Date().getTimezoneOffset()
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const asked = useApiQuery(
    'readOverview',
    { params: { account }, query: { range: search.range, zone, offset } },
    { keepsPrevious: true, everyMs: COUNTED_EVERY_MS },
  )
  const [isSlow] = useDebouncedValue(asked.isPending, SKELETON_AFTER_MS)
  const seen = asked.data
  return (
    <Page
      title="Overview"
      actions={
        <SegmentedControl
          aria-label="Range of time"
          size="sm"
          value={search.range}
          onChange={(range) => change({ range }, { isStep: true })}
          data={RANGES.map(({ value, label }) => ({ value, label }))}
        />
      }
    >
      {asked.error ? (
        <ProblemNote
          problem={asked.error}
          title={seen ? 'These figures may be out of date' : 'The overview could not be loaded'}
          onRetry={() => void asked.refetch()}
        />
      ) : null}
      {seen ? (
        // All at once: steps that come later would move what is read.
        <Suspense>
          <HoldBanner hold={seen.hold} />
          {seen.firstSteps === null ? null : <FirstSteps steps={seen.firstSteps} />}
          <NeedsAttention isQuiet={seen.firstSteps !== null} />
          <Tiles seen={seen} />
          <ResultChart
            seen={seen}
            bars={rowsOf(asked, ({ bars }) => bars.toReversed())}
            isTable={search.as === 'table'}
            onTable={(isTable) => change({ as: isTable ? 'table' : undefined })}
          />
          {seen.lanes.length === 0 ? null : (
            <Suspense>
              <WaitingLanes source={rowsOf(asked, ({ lanes }) => lanes)} furtherLanes={seen.furtherLanes} />
            </Suspense>
          )}
        </Suspense>
      ) : asked.isPending && isSlow ? (
        <Stack aria-busy="true">
          <Skeleton h={160} />
          <Skeleton h={300} />
        </Stack>
      ) : null}
    </Page>
  )
}
