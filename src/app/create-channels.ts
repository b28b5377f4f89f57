import { join } from 'node:path'
import { createSandbox, SANDBOX } from '../channels/sandbox/index.ts'
import type { Settings } from '../config/read-settings.ts'
import type { ConnectionId } from '../core/ids.ts'
import type { Channel } from '../core/ports/channel.ts'
import type { Storage } from './storage.ts'

export interface ChannelsParts {
  readonly settings: Settings
  readonly storage: Storage
  /** Besides the built-in ones. */
  readonly others: readonly Channel[]
  /** Gives the lane of this connection up, as if this process had died. */
  readonly dropClaim: (connectionId: ConnectionId) => void
}

/** All channels, by name. A process that does not dispatch starts none of them, but knows what each can send. */
export function createChannels({ settings, storage, others, dropClaim }: ChannelsParts): ReadonlyMap<string, Channel> {
  const sandbox = createSandbox({
    memory: storage.channelMemory(SANDBOX),
    clock: storage.clock,
    mediaFolder: join(settings.dataDir, 'sandbox-media'),
    mediaBytes: settings.sandboxMediaBytes,
    // SIGKILL, because a crash that gets to tidy up is none.
    crash: (connectionId) =>
      settings.sandboxMayCrash ? process.kill(process.pid, 'SIGKILL') : dropClaim(connectionId),
  })
  return new Map([sandbox, ...others].map((channel) => [channel.name, channel]))
}
