import { isDeepStrictEqual } from 'node:util'
import { KNOWN_CHANNELS, type OpenOnboarding, parseChannelSettings } from '../channels/registry.ts'
import { STORED_CAPABILITIES } from '../core/connection/adapter-capabilities.ts'
import type { ConnectionView } from '../core/ports/administration.ts'
import type { ChannelDescription } from '../core/ports/channel-description.ts'
import type {
  CallbackAddress,
  CheckedConnection,
  ConnectionService,
  PreparedChange,
  PreparedConnection,
  ReadPeers,
  StoredConnection,
} from '../core/ports/connection-service.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import { JoinedRefusal, Refusal } from '../core/refusals.ts'
import { newConnectionId } from '../storage/queries/new-id.ts'

import { KeyedSemaphore } from './keyed-semaphore.ts'
import { ConnectionVerifier } from './verify-connection.ts'

const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/

type Pairs = Readonly<Record<string, string>>
type StoredSettings = Readonly<Record<string, unknown>>

interface ConnectionServiceParts {
  /** By channel: those that have a network of their own. */
  readonly onboardings: ReadonlyMap<string, OpenOnboarding>
  /** Called only where there are secrets: an installation without any needs no key ring. */
  readonly openSecrets: () => Promise<Secrets>
  /** Without a slash at the end. */
  readonly publicUrl: string
  /** What networks have reported by themselves; left out where it is not shown. */
  readonly readReported?: ConnectionService['readReported']
  /** Replaced by tests. */
  readonly answersWithinMs?: number
}

// A person waits for it. A network answers within a second. If one packet each of connecting, TLS and the request is lost, it
// takes three more. A longer limit would only delay a person who must check the network connection anyway.
const ANSWERS_WITHIN_MS = 15_000

// Each call holds connections and memory for as long as the network takes. A person adds numbers one after the other; a
// caller that asks for more at once waits, and no other account does.
const MOST_AT_ONCE_PER_ACCOUNT = 4
// Two rounds of a network that does not answer. Much longer would let a value that is sealed at the end outlive the key that the
// process holds for it (OLD_KEY_KEPT_MS), and the waiting call would act on settings as they were long ago.
const TURN_WITHIN_MS = 2 * ANSWERS_WITHIN_MS

/** What the CLI and the console use to add, change and show connections. */
export function createConnectionService(parts: ConnectionServiceParts): ConnectionService {
  const { onboardings, publicUrl, readReported } = parts
  const turns = new KeyedSemaphore({ mostAtOnce: MOST_AT_ONCE_PER_ACCOUNT, waitsMs: TURN_WITHIN_MS, tooLate: tooMany })
  const networkOf = async (description: ChannelDescription): Promise<ConnectionVerifier | null> => {
    const openOnboarding = onboardings.get(description.name)
    if (!openOnboarding) return null
    const { answersWithinMs = ANSWERS_WITHIN_MS } = parts
    const [onboarding, secrets] = await Promise.all([openOnboarding(), parts.openSecrets()])
    return new ConnectionVerifier({ description, onboarding, secrets, answersWithinMs })
  }
  return {
    abilitiesOf: (channel) => describe(channel).abilities,
    async requireInstalled(channel) {
      await onboardings.get(channel)?.()
    },
    findFaults: (channel, pairs) => findFaults(describe(channel), withoutEmpty(pairs)),
    async prepareNew(wanted, others) {
      const description = describe(wanted.channel)
      const network = await networkOf(description)
      return turns.run(wanted.accountId, () => prepareNew({ description, network }, wanted, others))
    },
    async prepareChange(connection, pairs, others) {
      const description = describe(connection.channel)
      const network = await networkOf(description)
      return turns.run(connection.accountId, () => prepareChange({ description, network, connection }, pairs, others))
    },
    async check(connection, others) {
      const description = describe(connection.channel)
      const network = await networkOf(description)
      if (!network) return { facts: [], change: null }
      return turns.run(connection.accountId, () => check({ description, network, connection }, others))
    },
    readReported: async (connection, after) => (await readReported?.(connection, after)) ?? [],
    async listTemplates(connection) {
      const network = await networkOf(describe(connection.channel))
      return network ? turns.run(connection.accountId, () => network.listTemplates(connection)) : []
    },
    callbackOf: (connection) => callbackAddress(publicUrl, connection),
  }
}

interface Trade {
  readonly description: ChannelDescription
  /** Null: the channel has none, such as the sandbox. */
  readonly network: ConnectionVerifier | null
}

interface Checked extends Trade {
  readonly network: ConnectionVerifier
  readonly connection: StoredConnection
}

async function prepareNew(
  { description, network }: Trade,
  { accountId, number, channel, pairs }: Parameters<ConnectionService['prepareNew']>[0],
  others: ReadPeers,
): Promise<PreparedConnection> {
  const given = withoutEmpty(pairs)
  network?.secrets.refuseSealed(given)
  const settings = parseSettings(description, given)
  // Made here, because secrets are sealed for the id of their connection.
  const owner = { id: newConnectionId(), accountId, channel }
  const { id } = owner
  if (!network) return { id, channelSettings: settings, link: null, facts: [] }
  const { networkKey, facts, settings: proven } = await network.prove(number, settings, owner)
  const callbackApp = await network.findApp(owner, proven, others)
  return { id, channelSettings: network.secrets.seal(proven, owner), link: { networkKey, callbackApp }, facts }
}

async function prepareChange(
  { description, network, connection }: Trade & { readonly connection: StoredConnection },
  pairs: Pairs,
  others: ReadPeers,
): Promise<PreparedChange> {
  const { channel, channelSettings: stored, link } = connection
  network?.secrets.refuseSealed(pairs)
  // Secrets among them are sealed already, and stay as they are.
  const before = description.writeSettings(stored)
  const after = withoutEmpty({ ...before, ...pairs })
  const settings = parseSettings(description, after)
  const unproven = { link, facts: null, alongside: [], notChanged: [] }
  if (!network) return { ...unproven, channelSettings: settings }
  const changed = description.settings.filter(({ name }) => before[name] !== after[name])
  // Switches decide how we send. The network does not know them, so it is not asked about them.
  if (changed.every(({ kind }) => kind === 'switch')) {
    const differences = differencesOf(parseChannelSettings(channel, before), settings)
    return { ...unproven, channelSettings: { ...stored, ...differences } }
  }
  // Only a check stores the capabilities of an adapter, and no check was requested here.
  const kept = pick(stored, STORED_CAPABILITIES)
  const { proof, callbackApp, ...neighbours } = await network.proveChange(connection, { ...settings, ...kept }, others)
  const { networkKey, facts, settings: proven } = proof
  const untouched = Object.fromEntries(description.secretKeys.map((key) => [key, settings[key]]))
  const channelSettings = network.secrets.seal({ ...proven, ...untouched, ...kept }, connection)
  return { channelSettings, link: { networkKey, callbackApp }, facts, ...neighbours }
}

async function check({ description, network, connection }: Checked, others: ReadPeers): Promise<CheckedConnection> {
  const { channelSettings: stored, link } = connection
  const { proof, callbackApp } = await network.proveChange(connection, stored, others)
  const untouched = Object.fromEntries(description.secretKeys.map((key) => [key, stored[key]]))
  const channelSettings = network.secrets.seal({ ...proof.settings, ...untouched }, connection)
  if (isDeepStrictEqual(withoutUndefined(channelSettings), withoutUndefined(stored)))
    return { facts: proof.facts, change: null }
  // The network knows the number as before; only where it reports to may be new, because it did not report until now.
  const isLinkNew = link !== null && link.callbackApp !== callbackApp
  const change = { channelSettings, expected: stored, ...(isLinkNew && { link: { ...link, callbackApp } }) }
  return { facts: proof.facts, change }
}

function pick(settings: StoredSettings, key: string): StoredSettings {
  return settings[key] === undefined ? {} : { [key]: settings[key] }
}

function withoutUndefined(settings: StoredSettings): unknown {
  return JSON.parse(JSON.stringify(settings))
}

function tooMany(): Refusal {
  return new Refusal(
    'network_unreachable',
    'The network is asked about many connections of this account at this moment, so it was not asked about this one. Nothing was changed: try again in a minute.',
  )
}

function describe(channel: string): ChannelDescription {
  const description = KNOWN_CHANNELS.find(({ name }) => name === channel)
  if (!description) throw new Refusal('channel_unknown', `There is no channel “${channel}”.`)
  return description
}

/** An empty text leaves a setting out. */
function withoutEmpty(pairs: Pairs): Pairs {
  return Object.fromEntries(Object.entries(pairs).filter(([, text]) => text.trim() !== ''))
}

/** Refuses with everything that is missing or wrong. */
function parseSettings(description: ChannelDescription, pairs: Pairs): StoredSettings {
  const [first, ...others] = findFaults(description, pairs)
  if (first) throw new JoinedRefusal([first, ...others])
  return parseChannelSettings(description.name, pairs)
}

function findFaults(description: ChannelDescription, pairs: Pairs): readonly Refusal[] {
  return [...findMissing(description, pairs), ...findWrong(description, pairs)]
}

function findMissing({ label, settings }: ChannelDescription, pairs: Pairs): readonly Refusal[] {
  const missing = settings.filter(({ name, isRequired }) => isRequired && pairs[name] === undefined)
  const names = missing.map(({ name }) => name).join(', ')
  return missing.map(
    ({ name }) => new Refusal('setting_invalid', `A connection of ${label} needs ${names} as well.`, name),
  )
}

function findWrong({ name: channel }: ChannelDescription, pairs: Pairs): readonly Refusal[] {
  return Object.entries(pairs).flatMap(([name, text]) => {
    try {
      parseChannelSettings(channel, { [name]: text })
      return []
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [error]
    }
  })
}

function differencesOf(before: StoredSettings, after: StoredSettings): StoredSettings {
  return Object.fromEntries(
    Object.keys({ ...before, ...after })
      .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
      .map((key) => [key, after[key]]),
  )
}

/** Where a network is to send its callbacks; null where it needs none. `publicUrl` without a slash at the end. */
function callbackAddress(
  publicUrl: string,
  { channel, link, lastReportAt }: Pick<ConnectionView, 'channel' | 'link' | 'lastReportAt'>,
): CallbackAddress | null {
  if (!link?.callbackApp || !describe(channel).abilities.hasCallbacks) return null
  const problem = lastReportAt === null ? problemOf(new URL(publicUrl)) : null
  return { url: `${publicUrl}/channels/${channel}/${link.callbackApp}`, problem, lastReportAt }
}

/** Only what can be known without a network request. */
function problemOf({ protocol, hostname }: URL): string | null {
  const remedy = 'Set NUNCIO_PUBLIC_URL to the https address under which this service is reached from outside.'
  if (protocol !== 'https:') return `The network delivers callbacks to https only, and this address is not. ${remedy}`
  if (THIS_MACHINE.test(hostname))
    return `This address means the machine itself, which the network cannot reach. ${remedy}`
  return null
}
