import { createBridge } from '../../channels/bridge/index.ts'
import { BRIDGE } from '../../channels/bridge/name.ts'
import { createSandbox, SANDBOX } from '../../channels/sandbox/index.ts'
import { createWhatsAppCloud } from '../../channels/whatsapp-cloud/index.ts'
import { WHATSAPP_CLOUD } from '../../channels/whatsapp-cloud/name.ts'
import { createWhatsAppWeb } from '../../channels/whatsapp-web/index.ts'
import { WHATSAPP_WEB } from '../../channels/whatsapp-web/name.ts'
import type { Settings } from '../../config/read-settings.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { CallbackReceiver } from '../../core/ports/callbacks.ts'
import type { Channel } from '../../core/ports/channel.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { EncryptedSessionStore } from '../../secrets/session-store.ts'
import { extraFolder } from './extra-folder.ts'
import { guardedCallOf } from './guarded-call.ts'
import { sandboxMediaFolder } from './sandbox-media.ts'
import type { Storage } from './storage.ts'

interface ChannelsParts {
  readonly settings: Settings
  readonly storage: Storage
  readonly secrets: Secrets
  readonly journal: Journal
  /** Besides the built-in ones. */
  readonly others: readonly Channel[]
  /** Gives the lane of this connection up, as if this process had died. */
  readonly dropClaim: (connectionId: ConnectionId) => void
}

export interface Channels {
  /** By name. A process that does not dispatch starts none of them, but knows what each can send. */
  readonly byName: ReadonlyMap<string, Channel>
  /** The receivers of channels whose networks call back. */
  readonly receivers: readonly CallbackReceiver[]
}

export function createChannels(parts: ChannelsParts): Channels {
  const { settings, storage, secrets, journal, others, dropClaim } = parts
  const sandbox = createSandbox({
    memory: storage.channelState(SANDBOX),
    clock: storage.clock,
    mediaFolder: sandboxMediaFolder(settings),
    mediaBytes: settings.sandboxMediaBytes,
    // SIGKILL, because a crash that gets to tidy up is none.
    crash: (connectionId) =>
      settings.sandboxMayCrash ? process.kill(process.pid, 'SIGKILL') : dropClaim(connectionId),
  })
  const whatsAppCloud = createWhatsAppCloud({
    memory: storage.channelState(WHATSAPP_CLOUD),
    connections: storage.channelConnections(WHATSAPP_CLOUD),
    clock: storage.clock,
    secrets,
    baseUrl: settings.whatsappCloudUrl,
    note: (event) => journal.record(event),
  })
  const bridge = createBridge({
    memory: storage.channelState(BRIDGE),
    connections: storage.channelConnections(BRIDGE),
    clock: storage.clock,
    secrets,
    guarded: guardedCallOf(settings),
    publicUrl: settings.publicUrl,
    note: (event) => journal.record(event),
  })
  const whatsAppWeb = createWhatsAppWeb({
    ...settings.whatsappWebUrl,
    memory: storage.channelState(WHATSAPP_WEB),
    sessions: new EncryptedSessionStore({ rows: storage.sessions, secrets }),
    blocked: storage.blocked,
    clock: storage.clock,
    folder: extraFolder(settings, WHATSAPP_WEB),
    guarded: guardedCallOf(settings, { isLoopbackOpened: settings.whatsappWebUrl.rootKey !== null }),
    version: settings.whatsappWebVersion,
    note: (event) => journal.record(event),
  })
  const all: readonly Channel[] = [sandbox, whatsAppCloud, bridge, whatsAppWeb, ...others]
  return {
    byName: new Map(all.map((channel) => [channel.name, channel])),
    receivers: [whatsAppCloud.callbacks, bridge.callbacks],
  }
}
