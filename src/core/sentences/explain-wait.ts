import { durationText } from '../../format/durations.ts'
import type { LanePolicy } from '../connection/lane-policy.ts'
import { type ExplainedReason, explainReason } from '../reasons.ts'
import type { SentenceFacts } from './texts.ts'

interface WaitingNumber {
  readonly number: string
  readonly channel?: string
  readonly policy?: LanePolicy
}

/** Why all messages of a number wait. */
export function explainWait(
  of: WaitingNumber,
  { reason, words }: { readonly reason: string; readonly words: string | null },
): ExplainedReason {
  return explainReason(reason, { words, channel: of.channel ?? null, facts: numberFacts(of) })
}

/** What a sentence may say of a number and its settings. */
export function numberFacts({ number, policy }: WaitingNumber): SentenceFacts {
  if (!policy) return { number }
  const { leastGapMs, gapJitterMs, quietHours, timeToLiveMs } = policy
  return {
    number,
    gap: leastGapMs > 0 ? durationText(leastGapMs + gapJitterMs / 2) : undefined,
    quietUntil: quietHours ? `${quietHours.to} (${quietHours.timeZone})` : undefined,
    ttl: durationText(timeToLiveMs),
  }
}
