import { BarChart } from '@mantine/charts'
import '@mantine/charts/styles.css'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { BarPattern, colourOf, fillOf } from './bar-pattern.tsx'
import classes from './chart.module.css'
import { barName, numberText, type Result, shownResults } from './results.ts'

const SCOPE = 'chart'
const HEIGHT = 260

interface ChartBarsProps {
  readonly seen: OverviewReply
  readonly onOpen: (at: number) => void
}

/** Only the drawing. The table holds the same data, for keyboards and screen readers. */
export function ChartBars({ seen, onOpen }: ChartBarsProps) {
  const results = shownResults(seen.totals)
  const rows = seen.bars.map((bar) => ({ ...bar, name: barName(bar.at, seen) }))
  const open = ({ activeTooltipIndex }: { readonly activeTooltipIndex?: unknown }) => {
    const bar = seen.bars[Number(activeTooltipIndex)]
    if (bar) onOpen(bar.at)
  }
  return (
    <BarChart
      h={HEIGHT}
      data={rows}
      dataKey="name"
      type="stacked"
      maxBarWidth={48}
      series={results.map(({ key, word }) => ({ name: key, label: word, color: colourOf(key) }))}
      valueFormatter={numberText}
      barProps={({ name }) => ({
        fill: fillOf(name as Result, SCOPE),
        stroke: colourOf(name as Result),
        strokeWidth: 1,
        isAnimationActive: false,
      })}
      barChartProps={{ accessibilityLayer: false, onClick: open, className: classes['bar'] ?? '' }}
      yAxisProps={{ allowDecimals: false, width: 56 }}
      xAxisProps={{ minTickGap: 24 }}
    >
      <defs>
        {results.map(({ key }) => (
          <BarPattern key={key} result={key} scope={SCOPE} />
        ))}
      </defs>
    </BarChart>
  )
}
