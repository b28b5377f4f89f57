import type { PanelQuery } from './panel-queries.ts'

/** Panels of the metrics that come with Node. Our table of metrics does not have them, so they are written out. */
interface DefaultPanel {
  readonly title: string
  readonly unit: string
  readonly help: string
  readonly queries: readonly PanelQuery[]
}

const CHOSEN = '{job=~"$job", instance=~"$instance"}'

export const DEFAULT_PANELS: readonly DefaultPanel[] = [
  {
    title: 'Event loop lag',
    unit: 's',
    help: 'How late the event loop is. Everything waits for it: above 50 ms at the 99th percentile callers notice.',
    queries: [
      {
        expression: `max by (instance) (nodejs_eventloop_lag_p99_seconds${CHOSEN})`,
        legend: '{{instance}} 99th percentile',
      },
      { expression: `max by (instance) (nodejs_eventloop_lag_p50_seconds${CHOSEN})`, legend: '{{instance}} median' },
    ],
  },
  {
    title: 'Processor',
    unit: 'percentunit',
    help: 'Share of one core; several processes on one port are added up.',
    queries: [
      {
        expression: `sum by (instance) (rate(process_cpu_seconds_total${CHOSEN}[$__rate_interval]))`,
        legend: '{{instance}}',
      },
    ],
  },
  {
    title: 'Memory',
    unit: 'bytes',
    help: 'Memory of the system that the processes hold, and of it what JavaScript uses.',
    queries: [
      { expression: `sum by (instance) (process_resident_memory_bytes${CHOSEN})`, legend: '{{instance}} resident' },
      { expression: `sum by (instance) (nodejs_heap_size_used_bytes${CHOSEN})`, legend: '{{instance}} heap used' },
    ],
  },
  {
    title: 'Open files and connections',
    unit: 'short',
    help: 'File descriptors that are open; connections are among them.',
    queries: [{ expression: `sum by (instance) (process_open_fds${CHOSEN})`, legend: '{{instance}}' }],
  },
]
