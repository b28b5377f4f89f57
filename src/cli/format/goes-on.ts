import type { Instant } from '../../core/ids.ts'
import { relativeTime } from '../../format/instants.ts'
import { endNote, isAnyMoment } from '../../format/waits.ts'

/** When a lane that stands still goes on: `in 15 minutes`, or `in 15 minutes at the latest` where something is waited for. */
export function goesOn({ reason, until }: { readonly reason: string; readonly until: Instant }, now: Instant): string {
  return isAnyMoment(until, now) ? 'any moment' : `${relativeTime(until, now)}${endNote(reason)}`
}
