import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { ConnectionService } from '../../core/ports/connection-service.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import type { SandboxShow } from '../../core/ports/console/sandbox.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { HttpLog } from '../server/server-state.ts'

/** The dependencies of the console's handlers. `src/server` passes most of them in; `console-routes.ts` adds the rest. */
export interface ConsoleDeps {
  readonly store: ConsoleStore
  /** Why the service cannot write at present. Reads memory only. */
  readonly findStorageError: () => StorageError | null
  /** The time that all processes on this database share. */
  readonly clock: Clock
  readonly log: HttpLog
  /** The public address, without a slash at the end. Links are made from it alone, never from `Host`. */
  readonly publicUrl: string
  /** True when that is https: cookies are then `Secure` and begin with `__Host-`. */
  readonly isSecure: boolean
  readonly randomBytes: (count: number) => Buffer
  /** Encrypts what must not be readable in the database. */
  readonly secrets: Secrets
  /** The channels that a connection can be added for. */
  readonly channels: readonly ChannelDescription[]
  /** Asks networks and encrypts secrets. Its results are stored through `store`. */
  readonly connectionService: ConnectionService
  /** Deletes the file with the setup link. */
  readonly deleteSetupLink: () => Promise<void>
  readonly sandbox: SandboxShow
  /** Retention periods of the installation in days; 0: for ever. */
  readonly keeps: { readonly bodiesDays: number; readonly messagesDays: number; readonly auditDays: number }
  readonly version: string
  /** Private ranges that the operator allows for webhooks. */
  readonly webhookRanges: OperatorRanges
}
