import type { Instant } from '../ids.ts'
import type { LaneViews, OfConnection, StandsStill } from '../ports/console/lanes.ts'
import type { ExplainedReason } from '../reasons.ts'
import { explainWait } from './explain-wait.ts'

type Standstill = Pick<StandsStill, 'reason' | 'words' | 'until'>

/**
 * Why a lane stands still, and until when. Where each message waits for something of its own: what the oldest one waits for,
 * until the first of them goes on.
 */
export async function explainStandstill(
  lane: OfConnection & Parameters<typeof explainWait>[0],
  still: Standstill,
  { lanes, now }: { readonly lanes: Pick<LaneViews, 'findOldestWait'>; readonly now: Instant },
): Promise<{ readonly why: ExplainedReason; readonly until: Standstill['until'] }> {
  const own = still.reason === 'all_deferred' ? await lanes.findOldestWait(lane) : null
  const wait = own ?? still
  return { why: explainWait(lane, wait, now), until: wait.until }
}
