import packageFile from '../../../package.json' with { type: 'json' }
import type { Instant, WorkerId } from '../../core/ids.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { Lanes } from '../../core/ports/lanes.ts'
import type { HttpObserver } from '../../http/server/server-state.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { OtlpExporter } from '../../observability/traces/otlp-exporter.ts'
import { SpanQueue } from '../../observability/traces/span-queue.ts'
import { Tracer } from '../../observability/traces/tracer.ts'

const FLUSH_FOR_MS = 2_000

interface TracesWanted {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly sampledPercent: number
  readonly worker: WorkerId
  readonly metrics: Metrics
  readonly now: () => Instant
}

/** Traces as the service uses them. Loaded only where they are exported. */
export class Traces {
  readonly #metrics: Metrics
  readonly #queue: SpanQueue
  readonly #tracer: Tracer

  constructor({ url, headers, sampledPercent, worker, metrics, now }: TracesWanted) {
    const service = { version: packageFile.version, instance: worker }
    this.#metrics = metrics
    this.#queue = new SpanQueue({
      exporter: new OtlpExporter({ url, headers, service }),
      onEnd: (result, count) => metrics.count('nuncio_trace_spans_total', { result }, count),
    })
    this.#tracer = new Tracer({ sampledPercent, now, onSpan: (span) => this.#queue.add(span) })
  }

  /** A journal that also makes spans of its events. */
  journal(journal: Journal): Journal {
    return {
      record: (event) => {
        journal.record(event)
        this.#tracer.record(event)
      },
    }
  }

  /** The metrics, and what only traces want to know. */
  observer(): HttpObserver {
    const metrics = this.#metrics
    return {
      replied: (status, outcome, tookMs) => metrics.replied(status, outcome, tookMs),
      consoleReplied: (status, tookMs) => metrics.consoleReplied(status, tookMs),
      callbackReplied: (status, tookMs) => metrics.callbackReplied(status, tookMs),
      refusalNotLogged: (count) => metrics.refusalNotLogged(count),
      connectionDropped: () => metrics.connectionDropped(),
      accepted: ({ traceparent, ...accepted }) => this.#tracer.accepted(accepted, traceparent),
    }
  }

  /** The same lanes, whose commits of outcomes are measured. */
  lanes(lanes: Lanes): Lanes {
    return {
      heartbeat: (worker, lastsMs) => lanes.heartbeat(worker, lastsMs),
      deleteLease: (worker) => lanes.deleteLease(worker),
      claim: (request) => lanes.claim(request),
      inspect: (lane) => lanes.inspect(lane),
      release: (given) => lanes.release(given),
      fetchNext: (id, limit, after) => lanes.fetchNext(id, limit, after),
      expire: (limit) => lanes.expire(limit),
      applyReceipt: (receipt) => lanes.applyReceipt(receipt),
      record: async (step) => {
        const began = performance.now()
        const result = await lanes.record(step)
        // While evidence is waited for, the attempt is not reported as finished.
        const isEnd = step.finish !== null && step.finish.disposition.do !== 'await-evidence'
        if (isEnd && !result.fenced) this.#tracer.committed(step.connectionId, performance.now() - began)
        return result
      },
    }
  }

  /** Exports what is left, for two seconds at most. */
  stop(): Promise<void> {
    return this.#queue.stop(FLUSH_FOR_MS)
  }
}
