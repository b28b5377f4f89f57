import type { ChannelView, connectionRoutes } from '../../../contract/console/connections.ts'
import { checkNumber, plainNumber } from '../../../contract/field-rules.ts'
import { commandLine } from '../../../core/command-line.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId } from '../../../core/ids.ts'
import type { ConnectionChange } from '../../../core/ports/administration.ts'
import type { ChannelDescription } from '../../../core/ports/channel-description.ts'
import type { StoredConnection } from '../../../core/ports/connection-service.ts'
import { JoinedRefusal, REFUSALS, Refusal } from '../../../core/refusals.ts'
import { requireFreshProof } from '../authorize.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { findChannel, own, showConnection, stored } from './connection-info.ts'
import { presentChannel } from './present-connection.ts'

type ChannelSettingsRoutes = Pick<
  typeof connectionRoutes,
  'listChannels' | 'addConnection' | 'changeChannelSettings' | 'checkConnection' | 'listConnectionTemplates'
>

/** Handlers for the settings of a channel, which ask its network. */
export function channelSettingsHandlers(deps: ConsoleDeps): Handlers<ChannelSettingsRoutes> {
  const { store, channels, connectionService } = deps
  return {
    async listChannels() {
      return {
        channels: await Promise.all(
          channels.map(async (channel) =>
            presentChannel(channel, connectionService.abilitiesOf(channel.name), await findMissing(deps, channel)),
          ),
        ),
      }
    },
    async addConnection({ body }, context) {
      const { accountId, actor } = context
      const { channel } = body
      const number = plainNumber(body.number)
      const description = findChannel(channels, channel)
      if (!description) throw new Refusal('channel_unknown', undefined, 'channel')
      const [first, ...others] = [
        ...(await findNumberFaults(deps, accountId, number)),
        ...connectionService.findFaults(channel, body.settings).map((one) => namingField(description, one)),
      ]
      if (first) throw new JoinedRefusal([first, ...others])
      // Otherwise a passer-by at an unattended browser could add credentials of their own.
      if (description.secretKeys.length > 0) requireFreshProof(context)
      const wanted = { accountId, number, channel, pairs: body.settings }
      const { id, channelSettings, link, facts } = await namingFields(description, () =>
        connectionService.prepareNew(wanted, () => readPeers(deps, accountId)),
      )
      const policy = { ...DEFAULT_LANE_POLICY, ...description.laneDefaults }
      await store.administration.addConnection(
        { id, accountId, number, channel, policy, channelSettings: { ...channelSettings }, link },
        actor,
      )
      await store.administration.noteCheck(id, { facts, isTakenOver: true }, actor)
      return showConnection(deps, { accountId, id })
    },
    async changeChannelSettings({ params, body }, context) {
      const of = own(params, context)
      const connection = stored(await store.lanes.readLane(of), of)
      const { channelSettings, link, facts, alongside, notChanged } = await namingFields(
        findChannel(channels, connection.channel),
        () => connectionService.prepareChange(connection, body.settings, () => readPeers(deps, of.accountId)),
      )
      for (const other of alongside) {
        const its = { accountId: of.accountId, id: other.connection.id }
        await store.lanes.changeSettings(its, changeOf(other.connection, other), context.actor)
      }
      await store.lanes.changeSettings(of, changeOf(connection, { channelSettings, link }), context.actor)
      if (facts) await store.administration.noteCheck(of.id, { facts, isTakenOver: false }, context.actor)
      const shown = await showConnection(deps, of)
      return { ...shown, alsoChanged: alongside.map((other) => other.connection.number), notChanged: [...notChanged] }
    },
    async checkConnection({ params }, context) {
      const of = own(params, context)
      const connection = stored(await store.lanes.readLane(of), of)
      const { facts, change } = await connectionService.check(connection, () => readPeers(deps, of.accountId))
      if (change) await store.lanes.changeSettings(of, change, context.actor)
      await store.administration.noteCheck(of.id, { facts, isTakenOver: true }, context.actor)
      return showConnection(deps, of)
    },
    async listConnectionTemplates({ params }, context) {
      const of = own(params, context)
      const templates = await connectionService.listTemplates(stored(await store.lanes.readLane(of), of))
      return { templates: templates.map((template) => ({ ...template })) }
    },
  }
}

/** Why a connection of this channel cannot be added here; null: it can. */
async function findMissing(
  { connectionService }: ConsoleDeps,
  { name }: ChannelDescription,
): Promise<ChannelView['missing']> {
  try {
    await connectionService.requireInstalled(name)
    return null
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'channel_not_installed') throw error
    return { sentence: REFUSALS.channel_not_installed, command: commandLine`channel install ${name}` }
  }
}

/** Asking the network takes time, so the change must not undo another change that was made meanwhile. */
function changeOf(
  { channelSettings: expected }: StoredConnection,
  { channelSettings, link }: Pick<StoredConnection, 'channelSettings' | 'link'>,
): ConnectionChange {
  return { channelSettings, expected, ...(link && { link }) }
}

/** Found before the network is asked, and reported together with the faults of the settings. */
async function findNumberFaults({ store }: ConsoleDeps, accountId: AccountId, number: string): Promise<Refusal[]> {
  const fault = checkNumber(number)
  if (fault) return [new Refusal(fault.code, fault.message.replaceAll('`', ''), 'number')]
  const { items } = await store.lanes.listLanes({ accountId, find: number, group: null, after: null })
  return items.some((lane) => lane.number === number) ? [new Refusal('connection_exists', undefined, 'number')] : []
}

async function readPeers({ store }: ConsoleDeps, accountId: AccountId): Promise<readonly StoredConnection[]> {
  const others: StoredConnection[] = []
  let after: string | null = null
  do {
    const page = await store.lanes.listLanes({ accountId, find: null, group: null, after })
    others.push(...page.items.map((lane) => stored(lane, { accountId })))
    after = page.next
  } while (after !== null)
  return others
}

/** Names the settings in a refusal as the form does: the field by its name in the body, and in the sentence by its label. */
async function namingFields<Prepared>(
  channel: ChannelDescription | undefined,
  prepare: () => Promise<Prepared>,
): Promise<Prepared> {
  try {
    return await prepare()
  } catch (error) {
    if (!(error instanceof Refusal) || !channel) throw error
    const [first, ...others] = error instanceof JoinedRefusal ? error.parts : [error]
    throw first && others.length > 0
      ? new JoinedRefusal([namingField(channel, first), ...others.map((one) => namingField(channel, one))])
      : namingField(channel, first ?? error)
  }
}

function namingField({ settings }: ChannelDescription, refusal: Refusal): Refusal {
  const { code, field, message } = refusal
  const isSetting = field !== null && (code === 'setting_invalid' || settings.some(({ name }) => name === field))
  if (!isSetting) return refusal
  // A name such as `secret` may be a plain word of the sentence, except at its beginning. `access_token` is always the name.
  const words = settings.reduce((text, { name, label }) => {
    const named = name.includes('_') ? new RegExp(`\\b${name}\\b`, 'g') : new RegExp(`^${name}\\b`)
    return text.replace(named, label)
  }, message)
  return new Refusal(code, words, `settings.${field}`, { cause: refusal })
}
