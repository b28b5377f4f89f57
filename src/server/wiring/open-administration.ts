import { channelsOf, createOnboardings, createReadReported } from '../../channels/registry.ts'
import { type InboxRecord, readInboxEntry } from '../../channels/sandbox/inbox.ts'
import type { Settings } from '../../config/read-settings.ts'
import { createConnectionService } from '../../connections/connection-service.ts'
import type { AccountId, Instant } from '../../core/ids.ts'
import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { Administration } from '../../core/ports/administration.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import type { ConnectionService } from '../../core/ports/connection-service.ts'
import type { Alarms } from '../../core/ports/console/alarms.ts'
import type { DeviceSessions } from '../../core/ports/console/device-sessions.ts'
import type { LaneViews } from '../../core/ports/console/lanes.ts'
import type { Overview } from '../../core/ports/console/overview.ts'
import type { People } from '../../core/ports/console/people.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { BlockLists, RecipientEntries } from '../../core/ports/recipients.ts'
import type { SecretStore, Secrets } from '../../core/ports/secrets.ts'
import type { Webhooks } from '../../core/ports/webhooks.ts'
import { createAlarms } from '../../storage/queries/alarms/alarms.ts'
import { createDeviceSessions } from '../../storage/queries/connections/device-sessions.ts'
import type { RememberedEntry } from '../../storage/queries/connections/list-channel-state.ts'
import { createReadableState } from '../../storage/queries/connections/list-channel-state.ts'
import { createLaneViews } from '../../storage/queries/lanes/lane-views.ts'
import { createOverview } from '../../storage/queries/overview/overview.ts'
import { createPeople } from '../../storage/queries/people/people.ts'
import { createBlockLists } from '../../storage/queries/recipients/block-lists.ts'
import { createWebhooks } from '../../storage/queries/webhooks/webhooks.ts'
import { systemClock } from '../system-clock.ts'
import { extraFolder } from './extra-folder.ts'
import type { KeyRingAdministration } from './key-ring-administration.ts'
import { networkParts } from './network-parts.ts'
import { openEngine } from './open-engine.ts'
import { rangesOfWebhooks } from './operator-ranges.ts'
import { createRecipientData, type RecipientData } from './recipient-data.ts'
import { createRecipientEntries } from './recipient-hash.ts'
import { sandboxMediaFolder } from './sandbox-media.ts'

/** One delivery of the sandbox. */
export interface InboxEntry {
  readonly messageId: string
  /** The sender number. */
  readonly connection: string
  readonly to: string
  readonly type: string
  readonly text: string | null
  readonly caption: string | null
  readonly name: string | null
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly deliveredAt: Instant
}

interface InboxFilter {
  readonly accountId: AccountId | null
  /** The sender number. */
  readonly number: string | null
  /** Only so many, the newest. */
  readonly limit: number | null
}

/** The data, opened by a command beside a running service. */
export interface AdministrationSession {
  readonly administration: Administration
  readonly people: People
  readonly webhooks: Webhooks
  /** Private ranges that the operator opened for webhooks. */
  readonly webhookRanges: OperatorRanges
  /** Lanes, as the console sees and changes them. */
  readonly lanes: LaneViews
  readonly deviceSessions: DeviceSessions
  readonly blockLists: BlockLists
  readonly recipientEntries: RecipientEntries
  /** Why nothing can be written at present; null while everything can. */
  readonly findStorageError: () => Promise<StorageError | null>
  /** Which process holds the data, whether or not it shows a sign of life; null when that is not known. */
  readonly findHolder: () => number | null
  /** What the watchdog of the running service has found. */
  readonly alarms: Alarms
  readonly overview: Overview
  readonly recipientData: RecipientData
  /** For a password that is set without the console. */
  readonly hashPassword: (password: string) => Promise<string>
  /** Those by which a connection can be added. */
  readonly channels: readonly ChannelDescription[]
  /** Asks networks and seals secrets. What it prepares is stored through `administration`. */
  readonly connectionService: ConnectionService
  /** What the sandbox delivered, in order of delivery. A null filters nothing. */
  readonly inbox: (filter: InboxFilter) => AsyncIterable<InboxEntry>
  readonly openKeyRing: () => Promise<KeyRingAdministration>
  /** Only for what needs the secrets themselves: it refuses without the right key ring. */
  readonly openSecrets: () => Promise<Secrets>
  /** A QR code for a terminal, with the packages of a channel. */
  readonly drawQr: (channel: string, text: string) => Promise<string>
  readonly close: () => Promise<void>
}

/** `create` makes the data when there are none, instead of refusing. */
export async function openAdministration(
  settings: Settings,
  { create }: { readonly create: boolean },
): Promise<AdministrationSession> {
  const storage = await openEngine(settings, create)
  let secretStore: SecretStore | null = null
  const openSecretStore = () => (secretStore ??= storage.openSecretStore())
  let secrets: Promise<Secrets> | null = null
  const openSecretsOnce = async (): Promise<Secrets> => {
    const { openSecrets } = await import('./open-secrets.ts')
    const store = openSecretStore()
    secrets ??= store.readKeyFacts().then((facts) => openSecrets(settings, { facts, store }))
    return secrets
  }
  const blockLists = createBlockLists(storage.store)
  const recipientEntries = createRecipientEntries({ lists: blockLists, openSecrets: openSecretsOnce })
  return {
    administration: storage.administration,
    people: createPeople(storage.store),
    webhooks: createWebhooks(storage.store),
    webhookRanges: rangesOfWebhooks(settings),
    lanes: createLaneViews(storage.store),
    deviceSessions: createDeviceSessions(storage.store),
    blockLists,
    alarms: createAlarms(storage.store),
    overview: createOverview(storage.store),
    findStorageError: async () => (await storage.store.findStorageError?.()) ?? null,
    findHolder: () => storage.store.findHolder?.() ?? null,
    recipientEntries,
    recipientData: createRecipientData({
      store: storage.store,
      entries: recipientEntries,
      mediaFolder: sandboxMediaFolder(settings),
    }),
    async hashPassword(password) {
      const { PasswordHasher } = await import('../../http/console-api/people/password-hasher.ts')
      return new PasswordHasher().hash(password)
    },
    channels: channelsOf(settings),
    connectionService: createConnectionService({
      onboardings: createOnboardings(networkParts(settings, systemClock)),
      openSecrets: openSecretsOnce,
      publicUrl: settings.publicUrl,
      readReported: createReadReported((channel) => createReadableState(storage.store.database, channel), systemClock),
    }),
    async *inbox({ accountId, number, limit }) {
      for await (const entry of storage.listChannelMemory({ kind: 'sandbox.inbox', accountId, number, limit })) {
        const record = readInboxEntry(entry.value)
        if (record) yield toInboxEntry(entry, record)
      }
    },
    async openKeyRing() {
      const { createKeyRingAdministration } = await import('./key-ring-administration.ts')
      const { administration } = storage
      return createKeyRingAdministration({
        settings,
        store: openSecretStore(),
        administration,
        now: () => systemClock.now(),
      })
    },
    openSecrets: openSecretsOnce,
    async drawQr(channel, text) {
      const { drawQr } = await import('../../channels/whatsapp-web/draw-qr.ts')
      return drawQr(extraFolder(settings, channel), text)
    },
    async close() {
      await storage.close()
    },
  }
}

function toInboxEntry({ connection, key, at }: RememberedEntry, record: InboxRecord): InboxEntry {
  const { to, type, text, caption, name, sizeBytes, sha256 } = record
  // The key also carries the number of the attempt, so that a message delivered twice shows twice.
  const [messageId = key] = key.split('#')
  return { messageId, connection, to, type, text, caption, name, sizeBytes, sha256, deliveredAt: at }
}
