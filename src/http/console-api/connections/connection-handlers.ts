import type { connectionRoutes } from '../../../contract/console/connections.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import { NONE_TAKEN_OUT } from '../../../core/message/taken-out.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import { presentReason } from '../log/present-reason.ts'
import type { Handlers } from '../request-context.ts'
import { connectingHandlers } from './connecting-handlers.ts'
import { own, showConnection } from './connection-info.ts'
import { estimate, presentRow } from './present-connection.ts'

type ConnectingHandlers = keyof ReturnType<typeof connectingHandlers>
type LaneHandlers = 'endWait' | 'confirmBacklog' | 'cancelWaiting' | 'readLane' | 'listUnresolved'
type Routes = typeof connectionRoutes

export function connectionHandlers(deps: ConsoleDeps): Handlers<Routes> {
  return { ...settingHandlers(deps), ...connectingHandlers(deps), ...laneHandlers(deps) }
}

function settingHandlers(deps: ConsoleDeps): Omit<Handlers<Routes>, LaneHandlers | ConnectingHandlers> {
  const { store } = deps
  return {
    async listConnections({ query }, { accountId }) {
      const page = await store.lanes.listLanes({ accountId, find: query.find || null, after: query.after ?? null })
      return { items: page.items.map(presentRow), next: page.next }
    },
    readConnection: ({ params }, visit) => showConnection(deps, own(params, visit)),
    async pauseConnection({ params }, visit) {
      await store.lanes.setState(own(params, visit), 'paused', visit.actor)
      return showConnection(deps, own(params, visit))
    },
    async resumeConnection({ params }, visit) {
      await store.lanes.setState(own(params, visit), 'active', visit.actor)
      return showConnection(deps, own(params, visit))
    },
    async changeLane({ params, body }, visit) {
      await store.lanes.changeSettings(own(params, visit), { policy: body }, visit.actor)
      return showConnection(deps, own(params, visit))
    },
    async removeConnection({ params, body }, visit) {
      return store.lanes.removeSome(own(params, visit), body.cancelWaiting, visit.actor)
    },
  }
}

function laneHandlers(deps: ConsoleDeps): Pick<Handlers<Routes>, LaneHandlers> {
  const { store } = deps
  return {
    async readLane({ params, query }, visit) {
      const of = own(params, visit)
      const [lane, page] = await Promise.all([
        store.lanes.readLane(of),
        store.lanes.listWaiting(of, query.after ?? null),
      ])
      const items = page.items.map((item) => ({
        ...item,
        expiresAt: item.acceptedAt + lane.policy.timeToLiveMs,
        estimatedAt: estimate(lane, item.position, visit.now),
      }))
      return { open: page.open, items, next: page.next }
    },
    async endWait({ params }, visit) {
      await store.lanes.endWait(own(params, visit), visit.actor)
      return showConnection(deps, own(params, visit))
    },
    async confirmBacklog({ params }, visit) {
      await store.lanes.confirmBacklog(own(params, visit), visit.actor)
      return showConnection(deps, own(params, visit))
    },
    async cancelWaiting({ params, body: { upTo, olderThanMs } }, visit) {
      const of = own(params, visit)
      if (upTo !== null || olderThanMs === undefined) return store.lanes.cancelWaiting(of, upTo, visit.actor)
      const last = await store.lanes.findLastBefore(of, visit.now - olderThanMs)
      return last === null ? { ...NONE_TAKEN_OUT, upTo: null } : store.lanes.cancelWaiting(of, last, visit.actor)
    },
    async listUnresolved({ query }, visit) {
      const connectionId = (query.connection ?? null) as ConnectionId | null
      const wanted = { accountId: visit.accountId, connectionId, after: query.after ?? null }
      const page = await store.lanes.listUnresolved(wanted)
      const items = page.items.map((item) => {
        const { meaning, words } = presentReason(item.reason ?? 'result_unknown', item.words)
        return { ...item, sentence: meaning, words }
      })
      return { items, next: page.next }
    },
  }
}
