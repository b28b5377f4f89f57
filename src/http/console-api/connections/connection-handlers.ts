import type { connectionRoutes } from '../../../contract/console/connections.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import { NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import { presentReason } from '../log/present-reason.ts'
import type { Handlers } from '../request-context.ts'
import { channelSettingsHandlers } from './channel-settings-handlers.ts'
import { own, showConnection } from './connection-info.ts'
import { estimate, presentRow } from './present-connection.ts'

type ChannelSettingsHandlers = keyof ReturnType<typeof channelSettingsHandlers>
type LaneHandlers = 'endWait' | 'confirmBacklog' | 'cancelWaiting' | 'readLane' | 'listUnresolved'
type Routes = typeof connectionRoutes

export function connectionHandlers(deps: ConsoleDeps): Handlers<Routes> {
  return { ...settingHandlers(deps), ...channelSettingsHandlers(deps), ...laneHandlers(deps) }
}

function settingHandlers(deps: ConsoleDeps): Omit<Handlers<Routes>, LaneHandlers | ChannelSettingsHandlers> {
  const { store } = deps
  return {
    async listConnections({ query }, { accountId }) {
      const page = await store.lanes.listLanes({ accountId, find: query.find || null, after: query.after ?? null })
      return { items: page.items.map(presentRow), next: page.next }
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
      const items = page.items.map((item) => ({
        ...item,
        expiresAt: item.acceptedAt + lane.policy.timeToLiveMs,
        estimatedAt: estimate(lane, item.position, context.now),
      }))
      return { open: page.open, items, next: page.next }
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
        const { meaning, words } = presentReason(item.reason ?? 'result_unknown', item.words)
        return { ...item, sentence: meaning, words }
      })
      return { items, next: page.next }
    },
  }
}
