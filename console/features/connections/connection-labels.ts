import type { BoundedCount, PaceView } from '../../../src/contract/console/connections.ts'
import { durationText } from '../../../src/format/durations.ts'

/** "12", or "1,000+" for at least so many. */
export function countText({ count, isMore }: BoundedCount): string {
  return `${count.toLocaleString('en')}${isMore ? '+' : ''}`
}

export function messages({ count, isMore }: BoundedCount): string {
  return `${countText({ count, isMore })} ${count === 1 && !isMore ? 'message' : 'messages'}`
}

/** "12 in the last minute", "one each 2 s": the measured pace, or else the configured one. */
export function paceText({ publishedInLastMinute, perMessageMs }: PaceView): string {
  if (publishedInLastMinute.count > 0) return `${countText(publishedInLastMinute)} in the last minute`
  return perMessageMs === null ? 'Nothing in the last minute' : `At most one each ${durationText(perMessageMs)}`
}

export function typeText(type: string): string {
  return type === 'message' ? 'Text' : type.charAt(0).toUpperCase() + type.slice(1)
}
