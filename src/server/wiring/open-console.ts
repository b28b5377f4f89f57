import { randomBytes } from 'node:crypto'
import packageFile from '../../../package.json' with { type: 'json' }
import { assetPath } from '../../assets/asset-path.ts'
import { channelsOf, createOnboardings, createReadReported } from '../../channels/registry.ts'
import { SANDBOX_COMMANDS } from '../../channels/sandbox/commands.ts'
import { SANDBOX } from '../../channels/sandbox/index.ts'
import { planRead } from '../../channels/sandbox/receipts.ts'
import type { Settings } from '../../config/read-settings.ts'
import { createConnectionService } from '../../connections/connection-service.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { SandboxShow } from '../../core/ports/console/sandbox.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { ConsoleSettings } from '../../http/console-api/console-parts.ts'
import { openCopy } from '../../media/open-copy.ts'
import { deleteSetupLink } from '../first-run/setup-link.ts'
import { networkParts } from './network-parts.ts'
import { type ConsoleStorage, openConsoleStore } from './open-console-store.ts'
import { rangesOfWebhooks } from './operator-ranges.ts'
import { sweepTimesOf } from './retention-job.ts'
import { removeCopy, sandboxMediaFolder } from './sandbox-media.ts'

interface ConsoleWanted {
  readonly settings: Settings
  readonly clock: Clock
  /** Why the service itself can write nothing at present. */
  readonly findError: () => StorageError | null
  readonly secrets: Secrets
  /** The service's own, because the console shows what channels remember about networks. */
  readonly channelState: (channel: string) => ChannelState
  /** What went wrong in the background; it goes on by itself. */
  readonly onError: (error: unknown) => void
}

/** Opens the console's store, and collects what serving the console needs besides. */
export async function openConsole({
  settings,
  clock,
  findError,
  secrets,
  channelState,
  onError,
}: ConsoleWanted): Promise<{
  readonly storage: ConsoleStorage
  readonly settings: ConsoleSettings
}> {
  const storage = await openConsoleStore(settings, { now: () => clock.now(), findError, onError })
  return {
    storage,
    settings: {
      store: storage.store,
      findStorageError: findError,
      randomBytes,
      secrets,
      channels: channelsOf(settings),
      connectionService: createConnectionService({
        onboardings: createOnboardings(networkParts(settings, clock)),
        openSecrets: async () => secrets,
        publicUrl: settings.publicUrl,
        readReported: createReadReported(channelState, clock),
      }),
      deleteSetupLink: () => deleteSetupLink(settings.dataDir),
      sandbox: createSandboxShow(sandboxMediaFolder(settings), channelState(SANDBOX), clock),
      keeps: sweepTimesOf(settings),
      version: packageFile.version,
      webhookRanges: rangesOfWebhooks(settings),
      mayUsePlainHttp: settings.consolePlainHttp,
      pagesFolder: assetPath('console/dist'),
    },
  }
}

/** What people see of the sandbox beside its inbox. `mediaFolder` holds copies of what it delivered. */
function createSandboxShow(mediaFolder: string, memory: ChannelState, clock: Clock): SandboxShow {
  return {
    commands: Object.entries(SANDBOX_COMMANDS).map(([recipient, { happens, ends }]) => ({ recipient, happens, ends })),
    openCopy: (messageId) => openCopy(mediaFolder, messageId),
    removeCopy: (messageId) => removeCopy(mediaFolder, messageId),
    markRead: (delivery) => planRead(memory, delivery, clock.now()),
  }
}
