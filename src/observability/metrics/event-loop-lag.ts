import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, type Registry } from 'prom-client'

// prom-client samples too, every 10 ms. That was two thirds of what an idle service cost, because each sample ends its sleep.
const NEVER_MS = 2 ** 31 - 1
const SAMPLED_EVERY_MS = 100

/** For `collectDefaultMetrics`, which is to come before `showEventLoopLag`. */
export const WITHOUT_EVENT_LOOP_LAG = { eventLoopMonitoringPrecision: NEVER_MS }

type Delays = ReturnType<typeof monitorEventLoopDelay>

const SHOWN = [
  { what: 'max', help: 'The maximum recorded event loop delay.', read: ({ max }: Delays) => max },
  { what: 'mean', help: 'The mean of the recorded event loop delays.', read: ({ mean }: Delays) => mean },
  ...[50, 90, 99].map((percent) => ({
    what: `p${percent}`,
    help: `The ${percent}th percentile of the recorded event loop delays.`,
    read: (delays: Delays) => delays.percentile(percent),
  })),
]

/**
 * Shows how late the event loop was since this was last read, under the names of prom-client. Nothing is sampled before it is
 * read for the first time.
 */
export function showEventLoopLag(registry: Registry): void {
  const delays = monitorEventLoopDelay({ resolution: SAMPLED_EVERY_MS })
  for (const what of ['min', 'stddev', ...SHOWN.map(({ what }) => what)]) registry.removeSingleMetric(nameOf(what))
  for (const { what, help, read } of SHOWN) {
    new Gauge({
      name: nameOf(what),
      help,
      aggregator: what === 'max' ? 'max' : 'average',
      registers: [registry],
      collect() {
        // A sample is the time since the one before it.
        const lateMs = read(delays) / 1e6 - SAMPLED_EVERY_MS
        this.set(delays.count === 0 ? 0 : Math.max(0, lateMs) / 1_000)
        if (what !== SHOWN.at(-1)?.what) return
        delays.reset()
        delays.enable()
      },
    })
  }
}

function nameOf(what: string): string {
  return `nodejs_eventloop_lag_${what}_seconds`
}
