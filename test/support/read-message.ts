import type { LanePolicy } from '../../src/core/connection/lane-policy.ts'
import { DEFAULT_LANE_POLICY } from '../../src/core/connection/lane-policy.ts'
import type { MessageTimeline, MessageView, TimelineEntry } from '../../src/core/ports/administration.ts'
import { explainMessage } from '../../src/core/sentences/explain-message.ts'

export const AT = Date.UTC(2026, 0, 15, 12)
export const NUMBER = '15550001301'

export interface Situation {
  readonly message?: Partial<MessageView>
  readonly words?: string
  readonly channel?: string
  readonly policy?: Partial<LanePolicy>
  readonly wait?: MessageTimeline['laneWait']
  readonly timeline?: readonly TimelineEntry[]
  readonly more?: Partial<MessageTimeline>
}

export function entry(kind: string, ms: number, { code = null, words = null, ...facts }: Record<string, unknown> = {}) {
  return { at: AT + ms, kind, code, words, facts } as TimelineEntry
}

/** What a message page says to a person who does not know what the test provoked: was it sent, why, and what to do. */
export function readMessage(situation: Situation): readonly string[] {
  const { sentence, cause, nextStep } = explainMessage(viewOf(situation))
  return [sentence, cause ?? '', nextStep]
}

export function viewOf({ message, words, channel, policy, wait, timeline = [], more }: Situation): MessageTimeline {
  return {
    message: {
      to: '15551112222',
      connection: NUMBER,
      type: 'message',
      state: 'FAILED',
      reason: null,
      attempts: 1,
      acceptedAt: AT,
      publishedAt: null,
      ...message,
    },
    asOf: AT + 60_000,
    channel: channel ?? 'sandbox',
    policy: { ...DEFAULT_LANE_POLICY, ...policy },
    tries: null,
    paused: null,
    removed: null,
    block: null,
    reasonWords: words ?? null,
    laneWait: wait ?? null,
    position: null,
    waitsFor: null,
    reportsMissing: null,
    connectionState: 'active',
    bodyDeletedAt: null,
    hasSuccessor: false,
    repeatsWhatLeft: false,
    resent: null,
    resendOf: null,
    timeline: [entry('accepted', 0), ...timeline],
    ...more,
  } as unknown as MessageTimeline
}
