import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { ConnectionService } from '../../core/ports/connection-service.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import type { SandboxShow } from '../../core/ports/console/sandbox.ts'
import type { StorageError } from '../../core/ports/lanes.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { HttpLog } from '../server/server-state.ts'

/** What the handlers of the console are given. `app` hands most of it over; `console-routes.ts` adds the rest. */
export interface ConsoleDeps {
  readonly store: ConsoleStore
  /** Why the service can write nothing at present; asks nobody. */
  readonly findStorageError: () => StorageError | null
  /** Time as all processes on this database agree on it. */
  readonly clock: Clock
  readonly log: HttpLog
  /** Where people reach us, without a slash at the end. Links are made of it and of nothing else, never of `Host`. */
  readonly publicUrl: string
  /** True when that is https: cookies are then `Secure` and begin with `__Host-`. */
  readonly isSecure: boolean
  readonly randomBytes: (count: number) => Buffer
  /** Seals what must not lie readable in the database. */
  readonly secrets: Secrets
  /** Channels by which a connection can be added. */
  readonly channels: readonly ChannelDescription[]
  /** Asks networks and seals secrets. What it prepares is stored through `store`. */
  readonly connecting: ConnectionService
  /** Holds keys of ours. */
  readonly dataDir: string
  readonly sandbox: SandboxShow
  /** How many days the installation keeps what; 0: for ever. */
  readonly keeps: { readonly bodiesDays: number; readonly messagesDays: number; readonly auditDays: number }
  readonly version: string
  /** Private ranges that the operator opened for webhooks. */
  readonly webhookRanges: OperatorRanges
}
