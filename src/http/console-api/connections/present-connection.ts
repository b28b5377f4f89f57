import type { ChannelView, ConnectionRow, ConnectionView, LaneWaitView } from '../../../contract/console/connections.ts'
import { endOfQuietHours, startOfQuietHours } from '../../../core/connection/quiet-hours.ts'
import type { ChannelAbilities, ChannelDescription } from '../../../core/ports/channel-description.ts'
import type { BoundedCount, LaneOverview, StandsStill } from '../../../core/ports/console/lanes.ts'
import type { ExplainedReason } from '../../../core/reasons.ts'
import { explainWait } from '../../../core/sentences/explain-wait.ts'
import { NEEDS_PERSON } from '../../../format/waits.ts'

export function presentChannel(
  { name, label, description, settings, startFirst, warning }: ChannelDescription,
  abilities: ChannelAbilities,
  missing: ChannelView['missing'],
): ChannelView {
  return {
    ...{ name, label, description },
    settings: settings.map((setting) => ({ ...setting, random: setting.random ?? null })),
    startFirst: startFirst ?? null,
    ...abilities,
    warning: warning ? { sentences: [...warning.sentences], consent: warning.consent } : null,
    missing,
  }
}

/** Without the channel: this version does not know it. */
export function presentRow(lane: LaneOverview, now: number, known: ChannelDescription | undefined): ConnectionRow {
  const { id, number, name, channel, state, group, waiting, oldestWaitingAt, pace, standsStill: still } = lane
  return {
    id,
    number,
    name,
    channel,
    channelLabel: known?.label ?? channel,
    state,
    group,
    waiting,
    oldestWaitingAt,
    doneAt: waiting.count === 0 || waiting.isMore ? null : estimator(lane, now)(waiting.count),
    pace: { ...pace, perMessageMs: perMessageMs(lane) },
    wait: still && presentWait(explainWait(lane, still, now), still),
  }
}

export function presentConnection(
  lane: LaneOverview,
  {
    channel,
    unresolved,
    now,
  }: {
    /** Undefined: this version does not know it. */
    readonly channel: ChannelDescription | undefined
    readonly unresolved: BoundedCount
    readonly now: number
  },
): Omit<ConnectionView, 'hasTemplates' | 'facts' | 'checkedAt' | 'callback' | 'phone'> {
  const texts = channel?.writeSettings(lane.channelSettings) ?? {}
  const channelSettings = (channel?.settings ?? []).map((setting) => {
    const value = texts[setting.name] ?? null
    return {
      ...setting,
      random: setting.random ?? null,
      value: setting.kind === 'secret' ? null : value,
      isSet: value !== null,
    }
  })
  return {
    ...presentRow(lane, now, channel),
    lane: lane.policy,
    channelSettings,
    createdAt: lane.createdAt,
    unresolved,
  }
}

export function presentWait(
  { code, list, cause: sentence, nextStep, quote }: ExplainedReason,
  { until, canBeEnded }: Pick<StandsStill, 'until' | 'canBeEnded'>,
): LaneWaitView {
  return { code, list, sentence, nextStep, quote, until, canBeEnded }
}

/** The recently measured time per message, but at least the lane's gap. Null when it is unknown. */
function perMessageMs({ policy, pace }: LaneOverview): number | null {
  const leastMs = policy.leastGapMs + policy.gapJitterMs / 2
  const ms = Math.max(leastMs, pace.perMessageMs ?? 0)
  return ms > 0 ? ms : null
}

/**
 * When the message at a position will be sent. Null: unknown, because each waits for something of its own or a person must act,
 * or because quiet hours begin before.
 */
export function estimator(lane: LaneOverview, now: number): (position: number) => number | null {
  const { standsStill, state } = lane
  const reason = standsStill?.reason ?? ''
  const { quietHours } = lane.policy
  const eachMs = perMessageMs(lane)
  if (eachMs === null || state === 'paused' || standsStill?.until === null) return () => null
  if (reason === 'all_deferred' || NEEDS_PERSON.has(reason)) return () => null
  const goesOnAt = Math.max(now, standsStill?.until ?? now)
  const startsAt = (quietHours && endOfQuietHours(quietHours, goesOnAt)) ?? goesOnAt
  const quietFrom = (quietHours && startOfQuietHours(quietHours, startsAt)) ?? Number.POSITIVE_INFINITY
  return (position) => {
    const at = Math.round(startsAt + (position - 1) * eachMs)
    return at < quietFrom ? at : null
  }
}
