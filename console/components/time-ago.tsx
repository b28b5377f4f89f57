import { useEffect, useState } from 'react'
import { Hint } from './hint.tsx'
import { exactLocal, exactUtc, localDateTime, nearOrDate } from './instants.ts'
import { useTimeDisplay } from './stored-setting.ts'
import classes from './time-ago.module.css'

/**
 * A time: relative within a day of now, else its date. The exact time, local and in UTC, on hover and on focus.
 * `isQuiet`: skipped by the Tab key, for the second time of a row and in long lists.
 */
export function TimeAgo({ at, isQuiet = false }: { readonly at: number; readonly isQuiet?: boolean }) {
  const [display] = useTimeDisplay()
  const now = useNow()
  const words = display === 'relative' ? nearOrDate(at, now) : display === 'utc' ? exactUtc(at) : localDateTime(at)
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

function Exact({ at }: { readonly at: number }) {
  return (
    <>
      <div>{exactLocal(at)}</div>
      <div>{exactUtc(at)}</div>
    </>
  )
}

const EVERY_MS = 5_000

function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}
