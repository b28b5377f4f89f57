import { durationText } from '../../format/durations.ts'
import { shortTime } from '../../format/instants.ts'
import type { LanePolicy } from '../connection/lane-policy.ts'
import type { Instant } from '../ids.ts'
import { type ExplainedReason, explainReason } from '../reasons.ts'
import type { SentenceFacts } from './texts.ts'

interface WaitingNumber {
  readonly number: string
  readonly channel?: string
  readonly policy?: LanePolicy
}

interface LaneWait {
  readonly reason: string
  readonly words: string | null
  readonly until: Instant | null
}

/** Why all messages of a number wait. */
export function explainWait(of: WaitingNumber, wait: LaneWait, now: Instant): ExplainedReason {
  const facts = { ...numberFacts(of), until: untilText(wait, of.policy, now) }
  return explainReason(wait.reason, { words: wait.words, channel: of.channel ?? null, facts })
}

/** The end of a wait, to follow "until". That of quiet hours is set by the clock of the number, which is named unless it is UTC. */
export function untilText(
  { reason, until }: Pick<LaneWait, 'reason' | 'until'>,
  policy: LanePolicy | undefined,
  now: Instant,
): string | undefined {
  if (until === null) return undefined
  const time = shortTime(until, now)
  const hours = reason === 'quiet_hours' ? policy?.quietHours : null
  return hours && !isInUtc(hours) ? `${time} (${quietEnd(hours)})` : time
}

/** What a sentence may say of a number and its settings. */
export function numberFacts({ number, policy }: WaitingNumber): SentenceFacts {
  if (!policy) return { number }
  const { leastGapMs, gapJitterMs, quietHours } = policy
  return {
    number,
    gap: leastGapMs > 0 ? durationText(leastGapMs + gapJitterMs / 2) : undefined,
    quietUntil: quietHours ? quietEnd(quietHours) : undefined,
  }
}

type QuietHours = NonNullable<LanePolicy['quietHours']>

function quietEnd(hours: QuietHours): string {
  return `${hours.to} ${isInUtc(hours) ? 'UTC' : `in ${hours.timeZone}`}`
}

const UTC: ReadonlySet<string> = new Set(['UTC', 'Etc/UTC'])

/** By the same clock as the sentences. */
function isInUtc({ timeZone }: QuietHours): boolean {
  return UTC.has(timeZone)
}
