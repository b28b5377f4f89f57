import type { ConnectionView } from '../../../contract/console/connections.ts'
import type { PhoneView } from '../../../contract/console/phone.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import type { ChannelDescription } from '../../../core/ports/channel-description.ts'
import type { StoredConnection } from '../../../core/ports/connection-service.ts'
import type { DeviceSessionView } from '../../../core/ports/console/device-sessions.ts'
import type { LaneOverview, OfConnection, StandsStill } from '../../../core/ports/console/lanes.ts'
import type { ReasonCode } from '../../../core/reasons.ts'
import { explainSession } from '../../../core/sentences/explain-session.ts'
import { explainStandstill } from '../../../core/sentences/explain-standstill.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest } from '../request-context.ts'
import { presentConnection, presentWait } from './present-connection.ts'

export function own(params: { readonly id: string }, { accountId }: AccountRequest): OfConnection {
  return { accountId, id: params.id as ConnectionId }
}

export function stored(lane: LaneOverview, { accountId }: Pick<OfConnection, 'accountId'>): StoredConnection {
  const { id, number, channel, channelSettings, link } = lane
  return { id, accountId, number, channel, channelSettings, link }
}

export async function showConnection(deps: ConsoleDeps, of: OfConnection): Promise<ConnectionView> {
  const { lanes } = deps.store
  const wanted = { accountId: of.accountId, connectionId: of.id, after: null }
  const [lane, { items, next }]: [LaneOverview, Awaited<ReturnType<typeof lanes.listUnresolved>>] = await Promise.all([
    lanes.readLane(of),
    lanes.listUnresolved(wanted),
  ])
  const now = deps.clock.now()
  const still = lane.standsStill
  const explained = still && (await explainStandstill({ ...lane, accountId: of.accountId }, still, { lanes, now }))
  const check = lane.networkCheck
  const reported = await deps.connectionService.readReported(lane, check?.at ?? null)
  const kept = (check?.facts ?? []).filter(({ label }) => !reported.some((later) => later.label === label))
  const callback = deps.connectionService.callbackOf(lane)
  const abilities = deps.connectionService.abilitiesOf(lane.channel)
  const session = abilities.isLinkedDevice ? await deps.store.deviceSessions.read(of) : null
  return {
    ...presentConnection(lane, {
      channel: findChannel(deps.channels, lane.channel),
      unresolved: { count: items.length, isMore: next !== null },
      now,
    }),
    wait:
      still &&
      explained &&
      presentWait(explained.why, { until: explained.until, canBeEnded: mayRetry(still, explained) }),
    hasTemplates: abilities.hasTemplates,
    facts: [...kept, ...reported].map((fact) => ({ ...fact, isOwn: fact.isOwn ?? false })),
    checkedAt: check?.at ?? null,
    phone: abilities.isLinkedDevice ? presentPhone(lane.number, session, now) : null,
    callback: callback && { ...callback, isReachable: callback.problem === null },
  }
}

/**
 * Whether a person may end the wait: that of the lane itself, or that of its messages for their next try. Any other would begin
 * again at once.
 */
function mayRetry(still: StandsStill, { why }: Awaited<ReturnType<typeof explainStandstill>>): boolean {
  return still.canBeEnded || why.code === ('retrying' satisfies ReasonCode)
}

/** Undefined: this version does not know it. */
export function findChannel(channels: readonly ChannelDescription[], wanted: string): ChannelDescription | undefined {
  return channels.find(({ name }) => name === wanted)
}

// Sessions with these statuses try nothing, or not soon, until a person asks for it.
const USED_HERE = ['taken-elsewhere', 'banned', 'client-refused', 'unreadable', 'not-installed']

/** The phone that a connection is linked to. */
function presentPhone(number: string, view: DeviceSessionView | null, now: number): PhoneView {
  const status = view?.status ?? 'unlinked'
  const { sentence, nextStep } = explainSession(number, view, now)
  const isLinked = view?.isLinked ?? false
  const login = view?.lastLogin ?? null
  return {
    status,
    sentence,
    nextStep,
    since: view?.since ?? null,
    isLinked,
    canUseHere: isLinked && USED_HERE.includes(status),
    lastLogin: login && { ...login },
  }
}
