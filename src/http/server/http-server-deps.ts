import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { AddressRange } from '../../core/media-address/ip-address.ts'
import type { CallbackReceiver } from '../../core/ports/callbacks.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Intake } from '../../core/ports/intake.ts'
import type { ConsoleSettings } from '../console-api/console-parts.ts'
import type { Metrics, MetricsReaders } from '../health/metrics-page.ts'
import type { HttpLimits } from './http-limits.ts'
import type { HttpLog, HttpObserver } from './server-state.ts'
import type { TlsIdentity } from './tls-identity.ts'

/** Everything that the HTTP server needs. `src/server` passes it in. */
export interface HttpServerDeps {
  /** Null: this process accepts no messages, and serves only health and metrics. */
  readonly intake: Intake | null
  /** Null, or left out: this process does not serve the console. */
  readonly console?: ConsoleSettings | null
  /** The folder of the built documents; without it none are served. */
  readonly docsFolder?: string
  /** The receivers of callbacks from networks; none when left out. */
  readonly callbacks?: readonly CallbackReceiver[]
  readonly clock: Clock
  readonly log: HttpLog
  readonly observer: HttpObserver
  /** The address of the service for callers and browsers, without a slash at the end. Its path is the prefix of all paths. */
  readonly publicUrl: string
  /** Private ranges that media may be fetched from. */
  readonly mediaRanges: OperatorRanges
  /** Empty: forwarded addresses are ignored. */
  readonly trustedProxies: readonly AddressRange[]
  /** Messages per second, over all processes together; 0 means no limit. */
  readonly acceptRatePerAccount: number
  /** How many processes accept on this database, this one included; each uses an equal share of the rate. 1 when left out. */
  acceptingProcesses?(): number
  /** How many bytes of refused requests are logged one by one per account and hour; 0 means no limit. */
  readonly refusedLogBytesPerHour: number
  readonly metrics: Metrics & MetricsReaders
  /** False once the service is to stop: requests are then answered with 503. */
  isAccepting(): boolean
  /** Names of the parts that do not work. Empty: ready. */
  readinessProblems(): Promise<readonly string[]>
  /** Null, or left out: plain HTTP. */
  readonly tls?: TlsIdentity | null
  readonly limits?: Partial<HttpLimits>
}
