import { z } from 'zod'
import { formatDuration } from '../../format/durations.ts'
import { isTimeZone, LANE_LIMITS, TIME_OF_DAY } from './form-rules.ts'
import { plain } from './viewer-text.ts'

const timeOfDay = plain.regex(TIME_OF_DAY, 'Write a time of day from 00:00 to 23:59, such as 22:00.')

/** Hours of the day in which no attempt begins. They may span midnight. */
const quietHours = z
  .object({
    from: timeOfDay,
    to: timeOfDay,
    timeZone: plain.refine(isTimeZone, 'There is no such time zone. Write one such as Europe/Berlin, or UTC.'),
  })
  .refine(({ from, to }) => from !== to, {
    path: ['to'],
    message: 'Quiet hours must end at another time than they begin.',
  })

/** The settings of a lane. */
export const laneSettings = z.object({
  onUnconfirmed: z.enum(['leave', 'resend']),
  timeToLiveMs: within(LANE_LIMITS.timeToLiveMs),
  leastGapMs: within(LANE_LIMITS.leastGapMs),
  gapJitterMs: within(LANE_LIMITS.gapJitterMs),
  quietHours: quietHours.nullable(),
  confirmBacklogAfterMs: within(LANE_LIMITS.confirmBacklogAfterMs),
})
export type LaneSettings = z.output<typeof laneSettings>

function within({ least, most }: { readonly least: number; readonly most: number }) {
  const sentence = `Choose a time from ${formatDuration(least)} to ${formatDuration(most)}.`
  return z.int(sentence).min(least, sentence).max(most, sentence)
}
