import { durationText } from '../../format/durations.ts'
import type { LanePolicy } from '../connection/lane-policy.ts'
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
}

/** Why all messages of a number wait. Until when stands beside the sentence. */
export function explainWait(of: WaitingNumber, { reason, words }: LaneWait): ExplainedReason {
  return explainReason(reason, { words, channel: of.channel ?? null, facts: numberFacts(of) })
}

/** What a sentence may say of a number and its settings. */
export function numberFacts({ number, policy }: WaitingNumber): SentenceFacts {
  if (!policy) return { number }
  const { leastGapMs, gapJitterMs, quietHours } = policy
  return {
    number,
    gap: leastGapMs > 0 ? durationText(leastGapMs + gapJitterMs / 2) : undefined,
    quietUntil: quietHours
      ? `${quietHours.to} ${isInUtc(quietHours) ? 'UTC' : `in ${quietHours.timeZone}`}`
      : undefined,
  }
}

const UTC: ReadonlySet<string> = new Set(['UTC', 'Etc/UTC'])

/** By the same clock as the sentences. */
export function isInUtc(quietHours: LanePolicy['quietHours']): boolean {
  return UTC.has(quietHours?.timeZone ?? '')
}
