import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { JournalEvent } from '../core/ports/journal.ts'
import type { HttpObserver } from '../http/server-state.ts'

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What one process has counted, in a form that can be handed to another. */
export type MetricsReport = readonly object[]

/** What the rest of the service counts into, and what /metrics shows. Labels come from fixed lists: their number is bounded. */
export class Metrics implements HttpObserver {
  readonly contentType: string
  readonly #registry = new Registry()
  readonly #readOthers: (() => Promise<readonly MetricsReport[]>) | null
  readonly #requests = new Counter({
    name: 'nuncio_requests_total',
    help: 'Requests to the send endpoint, by HTTP status and outcome.',
    labelNames: ['status', 'outcome'],
    registers: [this.#registry],
  })
  readonly #requestSeconds = new Histogram({
    name: 'nuncio_request_seconds',
    help: 'From the arrival of a request until its reply was written.',
    buckets: SECONDS,
    registers: [this.#registry],
  })
  readonly #consoleRequests = new Counter({
    name: 'nuncio_console_requests_total',
    help: 'Requests to the private API of the console, by HTTP status.',
    labelNames: ['status'],
    registers: [this.#registry],
  })
  readonly #consoleSeconds = new Histogram({
    name: 'nuncio_console_request_seconds',
    help: 'From the arrival of a request of the console until its reply began.',
    buckets: SECONDS,
    registers: [this.#registry],
  })
  readonly #callbackReplies = new Counter({
    name: 'nuncio_callback_replies_total',
    help: 'Callbacks of networks, by the HTTP status that they were answered with.',
    labelNames: ['status'],
    registers: [this.#registry],
  })
  readonly #callbackSeconds = new Histogram({
    name: 'nuncio_callback_seconds',
    help: 'From the arrival of a callback until its reply was written.',
    buckets: SECONDS,
    registers: [this.#registry],
  })
  readonly #callbacks = new Counter({
    name: 'nuncio_callbacks_total',
    help: 'Callbacks of networks, by channel and by what became of them.',
    labelNames: ['channel', 'outcome'],
    registers: [this.#registry],
  })
  readonly #reports = new Counter({
    name: 'nuncio_callback_reports_total',
    help: 'Reports about messages in callbacks, by channel, kind and what became of them.',
    labelNames: ['channel', 'kind', 'end'],
    registers: [this.#registry],
  })
  readonly #ignored = new Counter({
    name: 'nuncio_callback_parts_ignored_total',
    help: 'Parts of callbacks that say nothing to us, by channel and reason.',
    labelNames: ['channel', 'reason'],
    registers: [this.#registry],
  })
  readonly #accepted = this.#requests.labels('200', 'accepted')
  readonly #refusalsNotLogged = this.#counter(
    'nuncio_refusals_not_logged_total',
    'Refused requests that could not be put into the API log.',
  )
  readonly #dropped = this.#counter(
    'nuncio_connections_dropped_total',
    'Connections turned away because as many were open as may be.',
  )
  readonly #attempts = new Counter({
    name: 'nuncio_attempts_total',
    help: 'Attempts to hand a message to a channel, by channel and outcome.',
    labelNames: ['channel', 'outcome'],
    registers: [this.#registry],
  })
  readonly #attemptSeconds = new Histogram({
    name: 'nuncio_attempt_seconds',
    help: 'How long an attempt took.',
    labelNames: ['channel'],
    buckets: SECONDS,
    registers: [this.#registry],
  })
  readonly #events = new Counter({
    name: 'nuncio_events_total',
    help: 'What else happened on the dispatching side, by kind.',
    labelNames: ['event'],
    registers: [this.#registry],
  })

  /**
   * `now` tells, when somebody looks, what is not counted but is so. `readOthers` brings what the other processes on this
   * port have counted; null when there are none.
   */
  constructor(
    now: { readonly waiting: () => number; readonly lanes: () => number },
    readOthers: (() => Promise<readonly MetricsReport[]>) | null = null,
  ) {
    this.#readOthers = readOthers
    this.contentType = this.#registry.contentType
    collectDefaultMetrics({ register: this.#registry })
    // Every process counts all that wait in the database; the lanes are each its own.
    this.#gauge('nuncio_messages_waiting', 'Messages that wait in their lanes.', { read: now.waiting, together: 'max' })
    this.#gauge('nuncio_lanes_held', 'Lanes that are held here.', { read: now.lanes, together: 'sum' })
  }

  /** Of all processes on this port together. */
  async text(): Promise<string> {
    if (!this.#readOthers) return this.#registry.metrics()
    const [own, others] = await Promise.all([this.report(), this.#readOthers()])
    return AggregatorRegistry.aggregate([own, ...others]).metrics()
  }

  /** Of this process alone. */
  report(): Promise<MetricsReport> {
    return this.#registry.getMetricsAsJSON()
  }

  replied(status: number, outcome: string, tookMs: number): void {
    if (outcome === 'accepted') this.#accepted.inc()
    else this.#requests.labels(String(status), outcome).inc()
    this.#requestSeconds.observe(tookMs / 1000)
  }

  consoleReplied(status: number, tookMs: number): void {
    this.#consoleRequests.labels(String(status)).inc()
    this.#consoleSeconds.observe(tookMs / 1000)
  }

  callbackReplied(status: number, tookMs: number): void {
    this.#callbackReplies.labels(String(status)).inc()
    this.#callbackSeconds.observe(tookMs / 1000)
  }

  refusalNotLogged(): void {
    this.#refusalsNotLogged.inc()
  }

  connectionDropped(): void {
    this.#dropped.inc()
  }

  record(event: JournalEvent): void {
    switch (event.event) {
      case 'attempt.finished':
        this.#attempts.labels(event.channel, event.outcome).inc()
        this.#attemptSeconds.labels(event.channel).observe(event.tookMs / 1000)
        break
      case 'callback.received':
        this.#callbacks.labels(event.channel, event.outcome).inc()
        break
      case 'callback.applied':
        this.#reports.labels(event.channel, event.kind, event.end).inc()
        break
      case 'callback.ignored':
        this.#ignored.labels(event.channel, event.reason).inc(event.count)
        break
      default:
        this.#events.labels(event.event).inc()
    }
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] })
  }

  #gauge(
    name: string,
    help: string,
    { read, together }: { readonly read: () => number; readonly together: 'max' | 'sum' },
  ): void {
    new Gauge({
      name,
      help,
      aggregator: together,
      registers: [this.#registry],
      collect() {
        this.set(read())
      },
    })
  }
}
