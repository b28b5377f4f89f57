import type { ConnectionId, Instant } from '../core/ids.ts'
import type { ChannelDescription } from '../core/ports/channel-description.ts'
import type { ChannelOnboarding, ConnectionFact } from '../core/ports/channel-onboarding.ts'
import type { ChannelState } from '../core/ports/channel-state.ts'
import type { Clock } from '../core/ports/clock.ts'
import type { ConnectionService } from '../core/ports/connection-service.ts'
import type { GuardedCall } from '../core/ports/guarded-call.ts'
import { Refusal } from '../core/refusals.ts'
import { BRIDGE_DESCRIPTION } from './bridge/description.ts'
import { reportedFacts as bridgeFacts } from './bridge/reported-facts.ts'
import { parseBridgeSettings } from './bridge/settings.ts'
import { SANDBOX_DESCRIPTION } from './sandbox/description.ts'
import { parseSandboxSettings } from './sandbox/settings.ts'
import { WHATSAPP_CLOUD_DESCRIPTION } from './whatsapp-cloud/description.ts'
import { readNumberFacts } from './whatsapp-cloud/number-memory.ts'
import { reportedFacts } from './whatsapp-cloud/reported-facts.ts'
import { parseWhatsAppCloudSettings } from './whatsapp-cloud/settings.ts'
import { WHATSAPP_WEB_DESCRIPTION } from './whatsapp-web/description.ts'
import { readReportedFacts } from './whatsapp-web/reported-facts.ts'
import { parseWhatsAppWebSettings } from './whatsapp-web/settings.ts'

/** Opens the client of a network. Loaded only on demand, because it is large. */
export type OpenOnboarding = () => Promise<ChannelOnboarding>

interface NetworkUrls {
  readonly whatsappCloudUrl: string
  readonly whatsappWebUrl: { readonly rootKey: string | null }
}

interface NetworkParts {
  readonly settings: Pick<NetworkUrls, 'whatsappCloudUrl'>
  readonly clock: Clock
  /** What calls adapters. */
  readonly guarded: GuardedCall
  /** Where the packages of a channel are installed that Nuncio does not distribute. */
  readonly extraFolder: (channel: string) => string
}

/** What a channel remembers, for code that only shows it. */
type ReadableState = Pick<ChannelState, 'list'>

interface ReportedConnection {
  readonly memory: ReadableState
  readonly id: ConnectionId
  readonly settings: Readonly<Record<string, unknown>>
  readonly lastReportAt: Instant | null
  readonly now: Instant
}

/** Everything about a channel except sending, which `createChannels` puts together. */
interface ChannelDefinition {
  readonly description: ChannelDescription
  readonly parseSettings: (given: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>
  /** Left out by a channel whose network cannot be asked. */
  readonly openOnboarding?: (parts: NetworkParts) => Promise<ChannelOnboarding>
  /** For a channel that learns about its numbers while it sends, or whose network reports about them by callback. */
  readonly readReported?: (of: ReportedConnection, after: Instant | null) => Promise<readonly ConnectionFact[]>
}

const DEFINITIONS: readonly ChannelDefinition[] = [
  {
    description: SANDBOX_DESCRIPTION,
    parseSettings: (given) => ({ ...parseSandboxSettings(given) }),
  },
  {
    description: WHATSAPP_CLOUD_DESCRIPTION,
    parseSettings: parseWhatsAppCloudSettings,
    async openOnboarding({ settings, clock }) {
      const { createOnboarding } = await import('./whatsapp-cloud/onboarding.ts')
      return createOnboarding({ baseUrl: settings.whatsappCloudUrl, clock })
    },
    readReported: async ({ memory, id }, after) => reportedFacts(await readNumberFacts(memory, id, after)),
  },
  {
    description: BRIDGE_DESCRIPTION,
    parseSettings: parseBridgeSettings,
    async openOnboarding({ guarded, clock }) {
      const { createOnboarding } = await import('./bridge/onboarding.ts')
      return createOnboarding({ guarded, clock })
    },
    readReported: async (of) => bridgeFacts(of),
  },
]

const LINKED: ChannelDefinition = {
  description: WHATSAPP_WEB_DESCRIPTION,
  parseSettings: parseWhatsAppWebSettings,
  async openOnboarding({ extraFolder }) {
    const { createOnboarding } = await import('./whatsapp-web/onboarding.ts')
    return createOnboarding(extraFolder(WHATSAPP_WEB_DESCRIPTION.name))
  },
  readReported: readReportedFacts,
}

const ALL = [...DEFINITIONS, LINKED]

/** The channels that are part of the program, as people choose them. */
export const CHANNELS: readonly ChannelDescription[] = DEFINITIONS.map(({ description }) => description)

/** The same, and those whose packages are installed by command. */
export const KNOWN_CHANNELS: readonly ChannelDescription[] = ALL.map(({ description }) => description)

/** The same. Where the settings lead to a simulator, the label says so, because nothing that is sent there reaches a phone. */
export function channelsOf({ whatsappCloudUrl, whatsappWebUrl }: NetworkUrls): readonly ChannelDescription[] {
  const simulated = [
    ...(whatsappCloudUrl.startsWith('https://') ? [] : [WHATSAPP_CLOUD_DESCRIPTION]),
    ...(whatsappWebUrl.rootKey === null ? [] : [WHATSAPP_WEB_DESCRIPTION]),
  ]
  return KNOWN_CHANNELS.map((channel) =>
    simulated.includes(channel) ? { ...channel, label: `${channel.label} (simulator)` } : channel,
  )
}

/** Checks settings of a connection given as text. Refuses with a sentence that names the setting. */
export function parseChannelSettings(
  channel: string,
  pairs: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const definition = ALL.find(({ description }) => description.name === channel)
  if (!definition) throw new Refusal('channel_unknown', `There is no channel “${channel}”.`)
  return definition.parseSettings(pairs)
}

/** By channel: those that have a network of their own. */
export function createOnboardings(parts: NetworkParts): ReadonlyMap<string, OpenOnboarding> {
  return new Map(
    ALL.flatMap(({ description, openOnboarding }) =>
      openOnboarding ? [[description.name, () => openOnboarding(parts)] as const] : [],
    ),
  )
}

/** Reads what is known about a connection besides what its network answers. */
export function createReadReported(
  stateOf: (channel: string) => ReadableState,
  clock: Pick<Clock, 'now'>,
): ConnectionService['readReported'] {
  return async ({ id, channel, channelSettings: settings, lastReportAt }, after) => {
    const read = ALL.find(({ description }) => description.name === channel)?.readReported
    return (await read?.({ memory: stateOf(channel), id, settings, lastReportAt, now: clock.now() }, after)) ?? []
  }
}
