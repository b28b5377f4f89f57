import type { connectionRoutes } from '../../../contract/console/connections.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import type { ChannelDescription } from '../../../core/ports/channel-description.ts'
import type { LaneOverview, OfConnection } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountVisit, Handlers } from '../handling.ts'
import { maskNumber } from '../log/mask.ts'
import { tellReason } from '../log/tell-reason.ts'
import { estimate, tellChannel, tellConnection, tellRow } from './tell-connection.ts'

type LaneHandlers = 'endWait' | 'cancelWaiting' | 'readLane' | 'listUnresolved'
type Routes = typeof connectionRoutes

export function connectionHandlers(deps: ConsoleDeps): Handlers<Routes> {
  return { ...settingHandlers(deps), ...laneHandlers(deps) }
}

function settingHandlers(deps: ConsoleDeps): Omit<Handlers<Routes>, LaneHandlers> {
  const { store, channels } = deps
  return {
    async listConnections({ query }, { accountId, role }) {
      const page = await store.lanes.listLanes({ accountId, find: query.find || null, after: query.after ?? null })
      return { items: page.items.map((lane) => tellRow(lane, role)), next: page.next }
    },
    async listChannels() {
      return { channels: channels.map(tellChannel) }
    },
    async addConnection({ body }, visit) {
      const { accountId, actor } = visit
      if (!find(channels, body.channel)) throw new Refusal('channel_unknown', undefined, 'channel')
      const channelSettings = { ...parse(deps, body.channel, body.settings) }
      const { number, channel } = body
      const wanted = { accountId, number, channel, policy: DEFAULT_LANE_POLICY, channelSettings }
      const { id } = await store.administration.addConnection(wanted, actor)
      return show(deps, { accountId, id }, visit)
    },
    readConnection: ({ params }, visit) => show(deps, own(params, visit), visit),
    async pauseConnection({ params }, visit) {
      await store.lanes.setState(own(params, visit), 'paused', visit.actor)
      return show(deps, own(params, visit), visit)
    },
    async resumeConnection({ params }, visit) {
      await store.lanes.setState(own(params, visit), 'active', visit.actor)
      return show(deps, own(params, visit), visit)
    },
    async changeLane({ params, body }, visit) {
      await store.lanes.changeSettings(own(params, visit), { policy: body }, visit.actor)
      return show(deps, own(params, visit), visit)
    },
    async changeChannelSettings({ params, body }, visit) {
      const of = own(params, visit)
      const lane = await store.lanes.readLane(of)
      const before = find(channels, lane.channel)?.writeSettings(lane.channelSettings) ?? {}
      const channelSettings = parse(deps, lane.channel, { ...before, ...body.settings })
      await store.lanes.changeSettings(of, { channelSettings }, visit.actor)
      return show(deps, of, visit)
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
      const to = numberShownTo(visit)
      const items = page.items.map((item) => ({
        ...item,
        to: to(item.to),
        expiresAt: item.acceptedAt + lane.policy.timeToLiveMs,
        estimatedAt: estimate(lane, item.position, visit.now),
      }))
      return { open: page.open && { ...page.open, to: to(page.open.to) }, items, next: page.next }
    },
    async endWait({ params }, visit) {
      await store.lanes.endWait(own(params, visit), visit.actor)
      return show(deps, own(params, visit), visit)
    },
    cancelWaiting: ({ params, body }, visit) => store.lanes.cancelWaiting(own(params, visit), body.upTo, visit.actor),
    async listUnresolved({ query }, visit) {
      const connectionId = (query.connection ?? null) as ConnectionId | null
      const wanted = { accountId: visit.accountId, connectionId, after: query.after ?? null }
      const page = await store.lanes.listUnresolved(wanted)
      const to = numberShownTo(visit)
      const items = page.items.map((item) => {
        const { meaning, words } = tellReason(item.reason ?? 'fate_unknown', item.words, visit.role === 'viewer')
        return { ...item, to: to(item.to), sentence: meaning, words }
      })
      return { items, next: page.next }
    },
  }
}

function own(params: { readonly id: string }, { accountId }: AccountVisit): OfConnection {
  return { accountId, id: params.id as ConnectionId }
}

async function show(deps: ConsoleDeps, of: OfConnection, { role }: AccountVisit) {
  const { lanes } = deps.store
  const wanted = { accountId: of.accountId, connectionId: of.id, after: null }
  const [lane, { items, next }]: [LaneOverview, Awaited<ReturnType<typeof lanes.listUnresolved>>] = await Promise.all([
    lanes.readLane(of),
    lanes.listUnresolved(wanted),
  ])
  const unresolved = { count: items.length, isMore: next !== null }
  return tellConnection(lane, { role, channel: find(deps.channels, lane.channel), unresolved })
}

/** An empty text leaves a setting out. */
function parse({ parseChannelSettings }: ConsoleDeps, channel: string, given: Readonly<Record<string, string>>) {
  const texts = Object.fromEntries(Object.entries(given).filter(([, text]) => text.trim() !== ''))
  try {
    return parseChannelSettings(channel, texts)
  } catch (error) {
    if (!(error instanceof Refusal) || error.field === null) throw error
    // So that the form finds the field by its name in the body.
    throw new Refusal(error.code, error.message, `settings.${error.field}`, { cause: error })
  }
}

function find(channels: readonly ChannelDescription[], wanted: string): ChannelDescription | undefined {
  return channels.find(({ name }) => name === wanted)
}

function numberShownTo({ role }: AccountVisit): (number: string) => string {
  return role === 'viewer' ? maskNumber : (number) => number
}
