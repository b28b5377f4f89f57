import { type connectionRoutes, MOST_SENT_COUNTED } from '../../../contract/console/connections.ts'
import type { WaitingPlaceView } from '../../../contract/console/lane-page.ts'
import type { ConnectionId, MessageId } from '../../../core/ids.ts'
import { earlierText } from '../../../core/message/earlier-message.ts'
import { ERASED } from '../../../core/message/erased.ts'
import { NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import type { LaneOverview, WaitingMessageView, WaitingPlace } from '../../../core/ports/console/lanes.ts'
import { explainReason } from '../../../core/reasons.ts'
import { explainNoResend } from '../../../core/sentences/explain-no-resend.ts'
import { explainWait } from '../../../core/sentences/explain-wait.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { channelSettingsHandlers } from './channel-settings-handlers.ts'
import { findChannel, own, showConnection } from './connection-info.ts'
import { estimator, presentRow } from './present-connection.ts'

type ChannelSettingsHandlers = keyof ReturnType<typeof channelSettingsHandlers>
type LaneHandlers =
  | 'countSent'
  | 'endWait'
  | 'confirmBacklog'
  | 'cancelWaiting'
  | 'readLane'
  | 'listPlaces'
  | 'listUnresolved'
type Routes = typeof connectionRoutes

interface Known {
  readonly estimate: ReturnType<typeof estimator>
  readonly now: number
}

// As many as a page of the log.
const MOST_PLACES = 200

export function connectionHandlers(deps: ConsoleDeps): Handlers<Routes> {
  return { ...settingHandlers(deps), ...channelSettingsHandlers(deps), ...laneHandlers(deps) }
}

function settingHandlers(deps: ConsoleDeps): Omit<Handlers<Routes>, LaneHandlers | ChannelSettingsHandlers> {
  const { store } = deps
  return {
    async listConnections({ query }, { accountId, now }) {
      const { find, group = null, after = null } = query
      const page = await store.lanes.listLanes({ accountId, find: find || null, group, after })
      const present = (lane: LaneOverview) => presentRow(lane, now, findChannel(deps.channels, lane.channel))
      return { items: page.items.map(present), next: page.next, counts: { ...page.counts } }
    },
    readConnection: ({ params }, context) => showConnection(deps, own(params, context)),
    async pauseConnection({ params }, context) {
      await store.lanes.setState(own(params, context), 'paused', context.actor)
      return showConnection(deps, own(params, context))
    },
    async resumeConnection({ params }, context) {
      await store.lanes.setState(own(params, context), 'active', context.actor)
      return showConnection(deps, own(params, context))
    },
    async renameConnection({ params, body }, context) {
      await store.lanes.changeSettings(own(params, context), { name: body.name || null }, context.actor)
      return showConnection(deps, own(params, context))
    },
    async changeLane({ params, body }, context) {
      await store.lanes.changeSettings(own(params, context), { policy: body }, context.actor)
      return showConnection(deps, own(params, context))
    },
    async removeConnection({ params, body }, context) {
      return store.lanes.removeSome(own(params, context), body.cancelWaiting, context.actor)
    },
  }
}

function laneHandlers(deps: ConsoleDeps): Pick<Handlers<Routes>, LaneHandlers> {
  const { store } = deps
  return {
    async readLane({ params, query }, context) {
      const of = own(params, context)
      const [lane, page] = await Promise.all([
        store.lanes.readLane(of),
        store.lanes.listWaiting(of, query.after ?? null),
      ])
      const known = { estimate: estimator(lane, context.now), now: context.now }
      const present = (item: WaitingMessageView) => presentWaiting(lane, item, known)
      const deferred = { ...page.deferred, items: page.deferred.items.map(present) }
      return { open: page.open, deferred, items: page.items.map(present), next: page.next }
    },
    async countSent({ query: { ids, since } }, { accountId }) {
      const connectionIds = ids.split(',').slice(0, MOST_SENT_COUNTED) as ConnectionId[]
      const { items, isComplete } = await store.overview.countSent({ accountId, connectionIds, since })
      return { items: [...items], isComplete }
    },
    async listPlaces({ query }, { accountId, now }) {
      const ids = query.ids.split(',').slice(0, MOST_PLACES) as MessageId[]
      const places = await store.lanes.findPlaces(accountId, ids)
      const items: WaitingPlaceView[] = []
      for (const [id, found] of Map.groupBy(places, ({ connectionId }) => connectionId)) {
        const lane = await store.lanes.readLane({ accountId, id })
        const known = { estimate: estimator(lane, now), now }
        for (const { connectionId: _, ...place } of found) items.push({ ...place, ...presentPlace(lane, place, known) })
      }
      return { items }
    },
    async endWait({ params }, context) {
      await store.lanes.endWait(own(params, context), context.actor)
      return showConnection(deps, own(params, context))
    },
    async confirmBacklog({ params }, context) {
      await store.lanes.confirmBacklog(own(params, context), context.actor)
      return showConnection(deps, own(params, context))
    },
    async cancelWaiting({ params, body: { upTo, olderThanMs } }, context) {
      const of = own(params, context)
      if (upTo !== null || olderThanMs === undefined) return store.lanes.cancelWaiting(of, upTo, context.actor)
      const last = await store.lanes.findLastBefore(of, context.now - olderThanMs)
      return last === null ? { ...NONE_TAKEN_OUT, upTo: null } : store.lanes.cancelWaiting(of, last, context.actor)
    },
    async listUnresolved({ query }, context) {
      const connectionId = (query.connection ?? null) as ConnectionId | null
      const wanted = { accountId: context.accountId, connectionId, after: query.after ?? null }
      const page = await store.lanes.listUnresolved(wanted)
      const items = page.items.map((item) => {
        const { words, connection: number, channel, to } = item
        const noResend = explainNoResend(item, item)?.nextStep ?? null
        const context = { words, channel, state: 'UNCONFIRMED', facts: { number, to: to === ERASED ? undefined : to } }
        const { cause: sentence, quote } = explainReason(item.reason ?? 'result_unknown', context)
        return { ...item, sentence, quote, noResend }
      })
      return { items, next: page.next }
    },
  }
}

function presentWaiting(lane: LaneOverview, item: WaitingMessageView, known: Known) {
  const expiresAt = item.acceptedAt + lane.policy.timeToLiveMs
  return { ...item, expiresAt, ...presentPlace(lane, item, known) }
}

/** A message that waits for something of its own has no estimated time, because the pace of the lane does not decide it. */
function presentPlace(
  { number, channel }: LaneOverview,
  { wait, behind, position }: Pick<WaitingPlace, 'wait' | 'behind' | 'position'>,
  { estimate, now }: Known,
) {
  const isItsTurn = behind === null && (wait === null || wait.reason === 'pace')
  const estimatedAt = isItsTurn && position !== null ? estimate(position) : null
  const earlier = behind && earlierText(behind)
  if (wait === null) return { estimatedAt, wait, behind: earlier }
  const { code, list, cause: sentence } = explainWait({ number, channel }, wait, now)
  return { estimatedAt, wait: { code, list, sentence, until: wait.until }, behind: earlier }
}
