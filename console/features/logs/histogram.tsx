import { Button, Group, Paper } from '@mantine/core'
import { type PointerEvent, type SubmitEvent, useState } from 'react'
import type { LogCounts } from '../../../src/contract/console/log.ts'
import classes from './histogram.module.css'
import { type BarRange, barText, inOrder, spanOf, spanText } from './histogram-text.ts'
import type { ResultKey } from './log-search.ts'

/** From the bottom of a bar upwards, as in the chart of the overview. */
const LAYERS: readonly { readonly group: string; readonly keys: readonly Exclude<ResultKey, 'accepted'>[] }[] = [
  { group: 'sent', keys: ['published'] },
  { group: 'moving', keys: ['waiting'] },
  { group: 'closed', keys: ['cancelled'] },
  { group: 'attend', keys: ['unconfirmed'] },
  { group: 'notsent', keys: ['failed', 'expired'] },
  { group: 'refused', keys: ['refused'] },
]

interface HistogramProps {
  readonly counts: LogCounts
  /** The results to draw; the other ones are filtered out. */
  readonly shown: readonly ResultKey[]
  readonly onChoose: (times: { readonly since: number; readonly until: number }) => void
}

/** The entries over time, by result. Dragging over bars, or two sliders for the keyboard, choose a shorter time. */
export function Histogram({ counts, shown, onChoose }: HistogramProps) {
  const { bars, barMs } = counts
  const [drag, setDrag] = useState<BarRange | null>(null)
  const layers = LAYERS.map(({ group, keys }) => ({ group, keys: keys.filter((key) => isShown(key, shown)) }))
  const sums = bars.map((bar) => layers.flatMap(({ keys }) => keys).reduce((sum, key) => sum + bar[key], 0))
  const highest = Math.max(1, ...sums)
  const choose = (range: BarRange) => {
    setDrag(null)
    onChoose(spanOf(range, counts))
  }
  const barAt = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const at = Math.floor(((event.clientX - left) / width) * bars.length)
    return Math.min(bars.length - 1, Math.max(0, at))
  }
  const [from, to] = drag === null ? [-1, -2] : inOrder(drag)
  return (
    <Paper withBorder className={classes['card'] ?? ''}>
      <div
        className={classes['bars'] ?? ''}
        role="img"
        aria-label={`Requests over time. ${spanText([0, bars.length - 1], counts)}. The figures are in the filters below.`}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          event.currentTarget.setPointerCapture(event.pointerId)
          const at = barAt(event)
          setDrag([at, at])
        }}
        onPointerMove={(event) => {
          if (drag !== null && event.buttons > 0) setDrag([drag[0], barAt(event)])
        }}
        onPointerUp={() => {
          if (drag !== null) choose(drag)
        }}
        onPointerCancel={() => setDrag(null)}
      >
        {bars.map((bar, at) => (
          <span
            key={bar.at}
            className={classes['bar']}
            data-chosen={at >= from && at <= to}
            title={barText(bar, barMs)}
          >
            {layers.map(({ group, keys }) => {
              const count = keys.reduce((sum, key) => sum + bar[key], 0)
              return count === 0 ? null : (
                <i key={group} data-fill={group} style={{ height: `${(count / highest) * 100}%` }} />
              )
            })}
          </span>
        ))}
      </div>
      <Ticks counts={counts} />
      <Sliders counts={counts} drag={drag} onDrag={setDrag} onChoose={choose} />
    </Paper>
  )
}

function isShown(key: ResultKey, shown: readonly ResultKey[]): boolean {
  return shown.includes(key) || (key !== 'refused' && shown.includes('accepted'))
}

function Ticks({ counts: { bars, barMs } }: { readonly counts: LogCounts }) {
  const last = bars.length - 1
  return (
    <div className={classes['ticks'] ?? ''} aria-hidden>
      {[0, 0.25, 0.5, 0.75].map((part) => {
        const bar = bars[Math.round(part * last)]
        return <span key={part}>{bar ? tickText(bar.at, barMs) : ''}</span>
      })}
      <span>{tickText((bars[last]?.at ?? 0) + barMs, barMs)}</span>
    </div>
  )
}

function tickText(at: number, barMs: number): string {
  const isLong = barMs >= 3_600_000
  const format = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const day = { day: 'numeric', month: 'short' } as const
  if (barMs < 60_000) return new Date(at).toLocaleTimeString([], { ...format, second: '2-digit' })
  return new Date(at).toLocaleString('en-GB', isLong ? { ...day, ...(barMs < 43_200_000 ? format : {}) } : format)
}

interface SlidersProps {
  readonly counts: LogCounts
  readonly drag: BarRange | null
  readonly onDrag: (drag: BarRange) => void
  readonly onChoose: (drag: BarRange) => void
}

/** The same by keyboard. They are seen only while they have the focus. */
function Sliders({ counts, drag, onDrag, onChoose }: SlidersProps) {
  const last = counts.bars.length - 1
  const [from, to] = drag === null ? [0, last] : inOrder(drag)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    onChoose([from, to])
  }
  const slider = (label: string, value: number, change: (value: number) => BarRange) => (
    <input
      type="range"
      aria-label={label}
      min={0}
      max={last}
      value={value}
      aria-valuetext={spanText([value, value], counts)}
      onChange={(event) => onDrag(change(Number(event.currentTarget.value)))}
    />
  )
  return (
    <form className={classes['sliders'] ?? ''} onSubmit={submit}>
      <Group gap="xs" wrap="nowrap">
        {slider('From', from, (value) => [Math.min(value, to), to])}
        {slider('To', to, (value) => [from, Math.max(value, from)])}
        <Button type="submit" size="compact-sm">
          Show this time
        </Button>
      </Group>
    </form>
  )
}
