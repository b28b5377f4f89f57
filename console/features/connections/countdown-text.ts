import { durationText } from '../../../src/format/durations.ts'

/** Which code is shown, of how many; one of many is replaced by the next when its time is over. */
interface ShownCode {
  readonly number: number
  readonly of: number
}

/**
 * How long the code is still valid. A phone may have used it in its last second, and the page shows the code for another
 * moment.
 */
export function countdownText({ number, of }: ShownCode, secondsLeft: number): string {
  const hasNext = number < of
  const left = durationText(secondsLeft * 1_000)
  if (secondsLeft > 0) return hasNext ? `New code in ${left}` : `Valid for ${left}`
  return hasNext ? 'The next code comes in a moment…' : 'Expired. Waiting for the phone…'
}
