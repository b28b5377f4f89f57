import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import type { SandboxShow } from '../../core/ports/console/sandbox.ts'
import type { HttpLog } from '../server-state.ts'

/** What the handlers of the console are given. `app` hands most of it over; `console-routes.ts` adds the rest. */
export interface ConsoleDeps {
  readonly store: ConsoleStore
  /** Time as all processes on this database agree on it. */
  readonly clock: Clock
  readonly log: HttpLog
  /** Where people reach us, without a slash at the end. Links are made of it and of nothing else, never of `Host`. */
  readonly publicUrl: string
  /** True when that is https: cookies are then `Secure` and begin with `__Host-`. */
  readonly isSecure: boolean
  readonly randomBytes: (count: number) => Buffer
  /** Channels by which a connection can be added. */
  readonly channels: readonly ChannelDescription[]
  /** Checks settings of a connection given as text. Refuses with a sentence that names the setting. */
  readonly parseChannelSettings: (
    channel: string,
    pairs: Readonly<Record<string, string>>,
  ) => Readonly<Record<string, unknown>>
  /** Holds keys of ours. */
  readonly dataDir: string
  readonly sandbox: SandboxShow
  readonly version: string
}
