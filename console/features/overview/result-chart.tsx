import { Box, Button, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import { ChartColumnStacked, Table as TableIcon } from 'lucide-react'
import { Suspense } from 'react'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import type { Rows } from '../../api/queries.ts'
import { lazily } from '../../components/load-later.ts'
import { TimeAgo } from '../../components/time-ago.tsx'
import { BarSwatch } from './bar-pattern.tsx'
import classes from './chart.module.css'
import { isNothing, numberText, RANGES, shownResults } from './results.ts'

// Tables are a tenth of the first view's script, and most people use the chart.
const ResultTable = lazily(async () => (await import('./result-table.tsx')).ResultTable)
const ChartBars = lazily(async () => (await import('./chart-bars.tsx')).ChartBars)

interface ResultChartProps {
  readonly seen: OverviewReply
  readonly bars: Rows<OverviewReply['bars'][number]>
  readonly isTable: boolean
  readonly onTable: (isTable: boolean) => void
}

/** The results of messages over time, as bars or as a table. */
export function ResultChart({ seen, bars, isTable, onTable }: ResultChartProps) {
  const words = RANGES.find(({ value }) => value === seen.range)?.words ?? ''
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="results" className={classes['colours'] ?? ''}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start">
          <div>
            <Title order={2} id="results">
              Results {words}
            </Title>
            <CountedAt seen={seen} />
          </div>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={isTable ? <ChartColumnStacked size={16} aria-hidden /> : <TableIcon size={16} aria-hidden />}
            onClick={() => onTable(!isTable)}
          >
            {isTable ? 'Show as chart' : 'Show as table'}
          </Button>
        </Group>
        <Legend seen={seen} />
        {isTable ? (
          <Suspense fallback={<Skeleton h={260} />}>
            <ResultTable seen={seen} bars={bars} />
          </Suspense>
        ) : (
          <Box role="figure" aria-label={`${summaryOf(seen)} ${words}. The same figures are in the table.`}>
            <Suspense fallback={<Skeleton h={260} />}>
              <ChartBars seen={seen} />
            </Suspense>
          </Box>
        )}
      </Stack>
    </Paper>
  )
}

/** The counts of an hour become final after eight days, except for actions of people. */
const LATE = ' Reports of a network that come more than eight days after a message are in the API logs alone.'

function CountedAt({ seen: { countedAt, isComplete, range } }: { readonly seen: OverviewReply }) {
  if (countedAt === null) {
    return (
      <Text size="sm" c="dimmed">
        Nothing has been counted yet. The first figures come within seconds.
      </Text>
    )
  }
  return (
    <Text size="sm" c="dimmed" component="div">
      {range === '1h' && isComplete ? 'As of ' : 'Counted '}
      <TimeAgo at={countedAt} />
      {isComplete ? '' : '. Older hours are still being counted, so figures go on growing'}.
      {range === '30d' ? LATE : ''}
    </Text>
  )
}

function Legend({ seen }: { readonly seen: OverviewReply }) {
  return (
    <Group gap="md" component="ul" p={0} m={0} style={{ listStyle: 'none' }} aria-label="Colours">
      {shownResults(seen.totals).map(({ key, word }) => (
        <Group key={key} component="li" gap={6} wrap="nowrap">
          <BarSwatch result={key} scope="legend" />
          <Text size="sm">{word}</Text>
        </Group>
      ))}
    </Group>
  )
}

function summaryOf({ totals }: OverviewReply): string {
  if (isNothing(totals)) return 'Nothing was asked for'
  return shownResults(totals)
    .map(({ key, word }) => `${numberText(totals[key])} ${word.toLowerCase()}`)
    .join(', ')
}
