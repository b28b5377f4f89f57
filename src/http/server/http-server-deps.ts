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

/** All that the HTTP side needs of the others. `app` hands it over. */
export interface HttpServerDeps {
  /** Null: this process takes no messages, and serves only health and metrics. */
  readonly intake: Intake | null
  /** Null, or left out: this process does not serve the console. */
  readonly console?: ConsoleSettings | null
  /** Where the built documents lie; without it none are served. */
  readonly docsFolder?: string
  /** Who takes what networks call back with; none when left out. */
  readonly callbacks?: readonly CallbackReceiver[]
  readonly clock: Clock
  readonly log: HttpLog
  readonly observer: HttpObserver
  /** Where callers and people reach us, without a slash at the end. Its path stands in front of every path of ours. */
  readonly publicUrl: string
  /** Private ranges that media may be fetched from all the same. */
  readonly mediaRanges: OperatorRanges
  /** Empty: forwarded addresses are not believed. */
  readonly trustedProxies: readonly AddressRange[]
  /** Messages per second, over all processes together; 0 means no limit. */
  readonly acceptRatePerAccount: number
  /** How many processes accept on this database, this one included; each takes its share of the rate. 1 when left out. */
  acceptingProcesses?(): number
  /** How much of what one account is refused within an hour is kept one by one; 0 means no limit. */
  readonly refusedLogBytesPerHour: number
  readonly metrics: Metrics & MetricsReaders
  /** False once the service is to stop: requests are then answered with 503. */
  isAccepting(): boolean
  /** Names of what does not work at the moment. Empty: ready. */
  readinessProblems(): Promise<readonly string[]>
  /** Null, or left out: plain HTTP. */
  readonly tls?: TlsIdentity | null
  readonly limits?: Partial<HttpLimits>
}
