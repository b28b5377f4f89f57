import { plainTime } from '../../src/format/instants.ts'
import { Hint } from './hint.tsx'
import { clockOrDate, estimateText, exactLocal, localClock, localDateTime, nearOrDate } from './instants.ts'
import { type TimeDisplay, useTimeDisplay } from './stored-setting.ts'
import classes from './time-ago.module.css'
import { useNow } from './use-now.ts'

interface TimeAgoProps {
  readonly at: number
  readonly isQuiet?: boolean
  readonly isClock?: boolean | 'without-day' | 'estimate'
}

/**
 * A time: relative within a day of now, else its date. The exact time, local and in UTC, on hover and on focus.
 * `isQuiet`: skipped by the Tab key, for the second time of a row and in long lists. `isClock`: by the clock, unless the
 * person chose otherwise, in lists of what happened second by second; `without-day` below a heading with the day; `estimate`
 * without seconds where it is far ahead.
 */
export function TimeAgo({ at, isQuiet = false, isClock = false }: TimeAgoProps) {
  const [display] = useTimeDisplay()
  const now = useNow()
  const words = isClock !== false && display === 'mixed' ? CLOCKS[`${isClock}`](at, now) : wordsFor(display, at, now)
  return (
    <Hint<HTMLTimeElement> label={<Exact at={at} />}>
      {(spot) => (
        // Keyboard users must reach the exact time, too.
        <time dateTime={new Date(at).toISOString()} className={classes['time']} {...spot} tabIndex={isQuiet ? -1 : 0}>
          {words}
        </time>
      )}
    </Hint>
  )
}

const CLOCKS = { true: clockOrDate, 'without-day': localClock, estimate: estimateText }

function wordsFor(display: TimeDisplay, at: number, now: number): string {
  if (display === 'utc') return plainTime(at)
  return display === 'local' ? localDateTime(at) : nearOrDate(at, now)
}

function Exact({ at }: { readonly at: number }) {
  return (
    <>
      <div>{exactLocal(at)}</div>
      <div>{plainTime(at)}</div>
    </>
  )
}
