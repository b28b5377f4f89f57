import { Box } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import type { OverviewReply } from '../../../src/contract/console/overview.ts'
import { useAccount } from '../../components/account.tsx'
import { axisOf } from './axis.ts'
import { BarPattern, colourOf, fillOf } from './bar-pattern.tsx'
import classes from './chart.module.css'
import { barName, logOf, numberText, shownResults } from './results.ts'

const SCOPE = 'chart'
// In pixels.
const HEIGHT = 260
const TOP = 8
const LEFT = 56
const FOOT = 24
const WIDEST_BAR = 48
const ROOM_OF_A_NAME = 96

/** Only the drawing. The table holds the same data, for keyboards and screen readers. */
export function ChartBars({ seen }: { readonly seen: OverviewReply }) {
  const { id: account } = useAccount()
  const { ref, width } = useElementSize()
  const results = shownResults(seen.totals)
  const sums = seen.bars.map((bar) => results.reduce((sum, { key }) => sum + bar[key], 0))
  const labels = axisOf(Math.max(0, ...sums))
  const perMessage = (HEIGHT - TOP - FOOT) / (labels.at(-1) ?? 1)
  const bottom = HEIGHT - FOOT
  const room = Math.max(0, width - LEFT) / seen.bars.length
  const barWidth = Math.min(WIDEST_BAR, room * 0.8)
  const namedEvery = Math.max(1, Math.ceil(ROOM_OF_A_NAME / Math.max(1, room)))
  return (
    <Box ref={ref} h={HEIGHT}>
      <svg width={width} height={HEIGHT} className={classes['chart'] ?? ''} aria-hidden>
        <defs>
          {results.map(({ key }) => (
            <BarPattern key={key} result={key} scope={SCOPE} />
          ))}
        </defs>
        {labels.map((label) => (
          <g key={label} transform={`translate(0 ${bottom - label * perMessage})`}>
            <line x1={LEFT} x2={width} />
            <text x={LEFT - 8} dy="0.35em" textAnchor="end">
              {numberText(label)}
            </text>
          </g>
        ))}
        {seen.bars.map((bar, at) => {
          const name = barName(bar.at, seen)
          return (
            <g key={bar.at} className={classes['bar'] ?? ''} transform={`translate(${LEFT + at * room} 0)`}>
              {/* The whole column can be clicked, not the bar alone. */}
              <Link
                to="/a/$account/developer/logs"
                params={{ account }}
                search={logOf(bar.at, seen) as never}
                tabIndex={-1}
              >
                <rect y={TOP} width={room} height={bottom - TOP}>
                  <title>{textOf(name, bar, results)}</title>
                </rect>
              </Link>
              {stackOf(bar, results).map(({ key, from, count }) => (
                <rect
                  key={key}
                  x={(room - barWidth) / 2}
                  y={bottom - (from + count) * perMessage}
                  width={barWidth}
                  height={count * perMessage}
                  fill={fillOf(key, SCOPE)}
                  stroke={colourOf(key)}
                />
              ))}
              {at % namedEvery === 0 ? (
                <text x={room / 2} y={HEIGHT - 6} textAnchor={at === 0 ? 'start' : 'middle'}>
                  {name}
                </text>
              ) : null}
            </g>
          )
        })}
      </svg>
    </Box>
  )
}

type Bar = OverviewReply['bars'][number]
type Results = ReturnType<typeof shownResults>

/** The parts of a bar, each above those before it. */
function stackOf(bar: Bar, results: Results) {
  let from = 0
  return results
    .filter(({ key }) => bar[key] > 0)
    .map(({ key }) => {
      const part = { key, from, count: bar[key] }
      from += bar[key]
      return part
    })
}

/** "14:30: 52 published, 3 failed". */
function textOf(name: string, bar: Bar, results: Results): string {
  const parts = results.filter(({ key }) => bar[key] > 0)
  const counts = parts.map(({ key, word }) => `${numberText(bar[key])} ${word.toLowerCase()}`).join(', ')
  return `${name}: ${counts || 'no requests'}`
}
