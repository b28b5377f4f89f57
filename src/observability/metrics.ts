import { AggregatorRegistry, collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import type { JournalEvent } from '../core/ports/journal.ts'
import { ALARM_KIND_NAMES, ALARM_SEVERITIES } from '../core/watchdog/alarm-kinds.ts'
import type { WatchState } from '../core/watchdog/watchdog.ts'
import type { HttpObserver } from '../http/server/server-state.ts'
import { Counted, type Distribution, type Tally } from './metrics/counted.ts'
import { showEventLoopLag, WITHOUT_EVENT_LOOP_LAG } from './metrics/event-loop-lag.ts'
import { laneStatusOf } from './metrics/label-values.ts'
import { type LabelsOf, METRIC_LIST, type MetricName, type NameOf } from './metrics/metric-table.ts'
import type { Committed, StorageFigures } from './storage-figures.ts'

/** What one process has counted, in a form that can be handed to another. */
export type MetricsReport = readonly object[]

/** Values that are read when the metrics are collected. Each of them must be cheap. */
export interface LaneStatus {
  readonly waiting: () => number
  readonly lanes: () => number
  /** What each lane that is held here does, or why it waits. */
  readonly laneStatuses?: () => Iterable<string>
  readonly deferred?: () => number
  readonly storage?: () => StorageFigures | null
  readonly fetches?: () => number
  readonly consoleQueries?: () => number
  /** Whether nothing can be written. */
  readonly hasError?: () => boolean
}

interface OfChannel {
  readonly accepted: Tally
  readonly rejected: Tally
  readonly unknown: Tally
  readonly seconds: Distribution
}

/** What the rest of the service counts into, and what /metrics shows. Labels come from fixed lists: their number is bounded. */
export class Metrics implements HttpObserver {
  readonly contentType: string
  readonly #registry = new Registry()
  readonly #readPeers: (() => Promise<readonly MetricsReport[]>) | null
  readonly #all: ReadonlyMap<string, Counted>
  // Counted for every request or message, so their lines are looked up once.
  readonly #accepted: Tally
  readonly #requestSeconds: Distribution
  readonly #firstWait: Distribution
  #refusedForStorage = 0
  /** How the sessions that this process has stand. */
  readonly #sessions = new Map<string, string>()
  readonly #ofChannels = new Map<string, OfChannel>()
  readonly #ofCommits = new Map<string, { readonly seconds: Distribution; readonly rows: Distribution }>()

  /**
   * `readPeers` brings what the other processes on this port have counted; null when there are none.
   */
  constructor(now: LaneStatus, readPeers: (() => Promise<readonly MetricsReport[]>) | null = null) {
    this.#readPeers = readPeers
    this.contentType = this.#registry.contentType
    this.#all = new Map(METRIC_LIST.map(([name]) => [name, this.#register(name)]))
    this.#accepted = this.#tally('nuncio_requests_total', { status: '200', outcome: 'accepted' })
    this.#requestSeconds = this.#distribution('nuncio_request_duration_seconds', {})
    this.#firstWait = this.#distribution('nuncio_first_attempt_wait_seconds', {})
    collectDefaultMetrics({ register: this.#registry, ...WITHOUT_EVENT_LOOP_LAG })
    showEventLoopLag(this.#registry)
    this.#registerStatus(now)
  }

  /** The text of all processes on this port together. */
  async text(): Promise<string> {
    if (!this.#readPeers) return this.#registry.metrics()
    const [own, others] = await Promise.all([this.report(), this.#readPeers()])
    return AggregatorRegistry.aggregate([own, ...others]).metrics()
  }

  /** The figures of this process alone. */
  report(): Promise<MetricsReport> {
    return this.#registry.getMetricsAsJSON()
  }

  /** Adds to a counter. */
  count<Name extends NameOf<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#tally(name, labels).value += by
  }

  /** Sets a gauge. */
  set<Name extends NameOf<'gauge'>>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#tally(name, labels).value = value
  }

  replied(status: number, outcome: string, tookMs: number): void {
    if (outcome === 'accepted') this.#accepted.value += 1
    else this.count('nuncio_requests_total', { status: String(status), outcome })
    if (outcome === 'not_accepted' || outcome === 'commit_unknown') this.#refusedForStorage += 1
    this.#requestSeconds.observe(tookMs / 1000)
  }

  /** How many requests were answered with 503 because they could not be stored. */
  get refusedForStorage(): number {
    return this.#refusedForStorage
  }

  consoleReplied(status: number, tookMs: number): void {
    this.count('nuncio_console_requests_total', { status: String(status) })
    this.#distribution('nuncio_console_request_duration_seconds', {}).observe(tookMs / 1000)
  }

  callbackReplied(status: number, tookMs: number): void {
    this.count('nuncio_callback_replies_total', { status: String(status) })
    this.#distribution('nuncio_callback_duration_seconds', {}).observe(tookMs / 1000)
  }

  refusalNotLogged(count: number): void {
    this.count('nuncio_refusals_not_logged_total', {}, count)
  }

  connectionDropped(): void {
    this.count('nuncio_connections_dropped_total', {})
  }

  /** Once for each commit, however many share it. */
  committed({ operation, rows, tookMs }: Committed): void {
    let ofKind = this.#ofCommits.get(operation)
    if (!ofKind) {
      ofKind = {
        seconds: this.#distribution('nuncio_commit_duration_seconds', { operation }),
        rows: this.#distribution('nuncio_commit_rows', { operation }),
      }
      this.#ofCommits.set(operation, ofKind)
    }
    ofKind.seconds.observe(tookMs / 1000)
    ofKind.rows.observe(rows)
  }

  record(event: JournalEvent): void {
    switch (event.event) {
      case 'attempt.finished': {
        const ofChannel = this.#ofChannels.get(event.channel) ?? this.#addChannel(event.channel)
        ofChannel[event.outcome].value += 1
        ofChannel.seconds.observe(event.tookMs / 1000)
        if (event.number === 1) this.#firstWait.observe(event.waitedMs / 1000)
        break
      }
      case 'lane.claimed':
      case 'lane.lost':
        this.count('nuncio_lane_claims_total', { change: event.event === 'lane.claimed' ? 'taken' : 'lost' })
        break
      case 'media.fetched':
        this.count('nuncio_media_fetches_total', { outcome: 'fetched' })
        this.count('nuncio_media_fetched_bytes_total', {}, event.sizeBytes)
        this.#distribution('nuncio_media_fetch_duration_seconds', {}).observe(event.tookMs / 1000)
        break
      case 'media.failed':
        this.count('nuncio_media_fetches_total', { outcome: event.code })
        break
      case 'message.prepared': {
        const { channel, outcome, tookMs } = event
        this.#distribution('nuncio_prepare_duration_seconds', { channel, outcome }).observe(tookMs / 1000)
        break
      }
      case 'callback.received':
        this.count('nuncio_callbacks_total', { channel: event.channel, outcome: event.outcome })
        break
      case 'callback.applied':
        this.count('nuncio_callback_reports_total', { channel: event.channel, kind: event.kind, result: event.end })
        break
      case 'delivery.tried':
        this.count('nuncio_webhook_tries_total', { outcome: event.code })
        this.#distribution('nuncio_webhook_try_duration_seconds', {}).observe(event.tookMs / 1000)
        break
      case 'callback.ignored':
        this.count('nuncio_callback_parts_ignored_total', { channel: event.channel, reason: event.reason }, event.count)
        break
      case 'bridge.called':
        this.count('nuncio_bridge_calls_total', { operation: event.operation, result: event.result })
        this.#distribution('nuncio_bridge_request_duration_seconds', { operation: event.operation }).observe(
          event.tookMs / 1000,
        )
        break
      case 'session.changed':
        this.#sessionChanged(event)
        break
      case 'network.refused':
        this.count('nuncio_network_refusals_total', { code: event.code })
        break
      case 'retention.swept':
        for (const [kind, count] of Object.entries(event.removed))
          this.count('nuncio_retention_removed_total', { kind }, count)
        this.count('nuncio_retention_seconds_total', {}, event.tookMs / 1000)
        this.set('nuncio_retention_last_sweep_timestamp_seconds', {}, event.endedAt / 1000)
        break
      default:
        this.count('nuncio_events_total', { event: event.event })
    }
  }

  #sessionChanged({ connectionId, status, code }: Extract<JournalEvent, { event: 'session.changed' }>): void {
    const before = this.#sessions.get(connectionId)
    if (before !== undefined) this.#tally('nuncio_sessions', { status: before }).value -= 1
    if (status === 'closed') this.#sessions.delete(connectionId)
    else {
      this.#sessions.set(connectionId, status)
      this.#tally('nuncio_sessions', { status }).value += 1
    }
    if (status === 'ready') this.count('nuncio_session_logins_total', {})
    const hasEnded = code !== null || (before === 'ready' && status === 'connecting')
    if (hasEnded) this.count('nuncio_session_lines_ended_total', { code: code === null ? 'none' : String(code) })
  }

  #addChannel(channel: string): OfChannel {
    const outcome = (word: 'accepted' | 'rejected' | 'unknown') =>
      this.#tally('nuncio_attempts_total', { channel, outcome: word })
    const made: OfChannel = {
      accepted: outcome('accepted'),
      rejected: outcome('rejected'),
      unknown: outcome('unknown'),
      seconds: this.#distribution('nuncio_attempt_duration_seconds', { channel }),
    }
    this.#ofChannels.set(channel, made)
    return made
  }

  #registerStatus(now: LaneStatus): void {
    this.#gauge('nuncio_messages_waiting', now.waiting)
    this.#gauge('nuncio_lanes_held', now.lanes)
    this.#gauge('nuncio_messages_deferred', () => now.deferred?.() ?? 0)
    this.#gauge('nuncio_media_fetches_open', () => now.fetches?.() ?? 0)
    this.#gauge('nuncio_console_queries_in_flight', () => now.consoleQueries?.() ?? 0)
    this.#gauge('nuncio_storage_unavailable', () => Number(now.hasError?.() ?? false))
    this.#gauge('nuncio_database_bytes', () => now.storage?.()?.databaseBytes ?? 0)
    this.#gauge('nuncio_media_spool_bytes', () => now.storage?.()?.spoolBytes ?? 0)
    this.#gauge('nuncio_connections_paused', () => now.storage?.()?.pausedConnections ?? 0)
    this.#gauge('nuncio_database_connections_made_total', () => now.storage?.()?.connectionsMade ?? 0)
    const byStatus = this.#counted('nuncio_lanes')
    const open = this.#tally('nuncio_attempts_open', {})
    byStatus.collectWith(() => {
      const counts = new Map<string, number>()
      for (const said of now.laneStatuses?.() ?? []) {
        const status = laneStatusOf(said)
        counts.set(status, (counts.get(status) ?? 0) + 1)
      }
      for (const { labels, line } of byStatus.lines()) (line as Tally).value = counts.get(labels['status'] ?? '') ?? 0
      open.value = counts.get('sending') ?? 0
    })
  }

  #gauge(name: NameOf<'gauge'> | 'nuncio_database_connections_made_total', read: () => number): void {
    const line = this.#tally(name, {})
    this.#counted(name).collectWith(() => {
      line.value = read()
    })
  }

  #tally<Name extends NameOf<'counter' | 'gauge'>>(name: Name, labels: LabelsOf<Name>): Tally {
    return this.#counted(name).of(labels) as Tally
  }

  #distribution<Name extends NameOf<'histogram'>>(name: Name, labels: LabelsOf<Name>): Distribution {
    return this.#counted(name).of(labels) as Distribution
  }

  #counted(name: MetricName): Counted {
    const found = this.#all.get(name)
    if (!found) throw new Error(`There is no metric ${name}`)
    return found
  }

  #register(name: MetricName): Counted {
    const made = new Counted(name)
    this.#registry.registerMetric(made as unknown as Metric)
    return made
  }
}

/** Sets the gauges to what the watchdog found at its last check. */
export function setWatchGauges(
  metrics: Pick<Metrics, 'count' | 'set'>,
  { alarms, disks, oldestWaitingMs }: WatchState,
): void {
  for (const kind of ALARM_KIND_NAMES) {
    for (const severity of ALARM_SEVERITIES) {
      const open = alarms.filter((alarm) => alarm.kind === kind && alarm.severity === severity).length
      metrics.set('nuncio_alarms_open', { kind, severity }, open)
    }
  }
  for (const { volume, freeBytes } of disks) metrics.set('nuncio_disk_free_bytes', { volume }, freeBytes)
  metrics.set('nuncio_oldest_waiting_seconds', {}, (oldestWaitingMs ?? 0) / 1000)
  metrics.count('nuncio_watchdog_checks_total', {})
}
