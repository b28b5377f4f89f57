import type { WaitingPlaceView } from '../../src/contract/console/lane-page.ts'
import { endNote } from '../../src/format/waits.ts'
import { estimateText } from './instants.ts'

/** What a message waits for, other than its turn: the same in the log as in its lane. Null: it waits for its turn. */
export function waitText({ wait, behind }: Pick<WaitingPlaceView, 'wait' | 'behind'>, now: number): string | null {
  if (behind !== null)
    return `Waits for ${behind.text}${behind.at === null ? '' : ` at ${estimateText(behind.at, now)}`}`
  if (wait === null) return null
  const { list, code, until } = wait
  return until === null || until <= now ? list : `${list}, goes on ${estimateText(until, now)}${endNote(code)}`
}
