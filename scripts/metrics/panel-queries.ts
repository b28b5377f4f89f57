import type { MetricDefinition } from '../../src/observability/metrics/metric-definition.ts'

/** One line of a panel, or several that differ by labels. */
export interface PanelQuery {
  readonly expression: string
  /** How Grafana names the lines: `{{label}}` stands for the value of a label. */
  readonly legend: string
}

/** Selects the processes that are chosen in the dashboard. */
const CHOSEN = '{job=~"$job", instance=~"$instance"}'

/** The queries of a panel about one metric. */
export function queriesOf(name: string, definition: MetricDefinition): readonly PanelQuery[] {
  const { kind, together, panel } = definition
  const by = panel.by.length > 0 ? ` by (${panel.by.join(', ')})` : ''
  const named = panel.by.map((label) => `{{${label}}}`).join(' ')
  switch (kind) {
    case 'counter':
      return [{ expression: `sum${by} (rate(${name}${CHOSEN}[$__rate_interval]))`, legend: named || shortName(name) }]
    case 'gauge':
      return [{ expression: `${together}${by} (${name}${CHOSEN})`, legend: named || shortName(name) }]
    case 'histogram':
      return [0.5, 0.99].map((share) => ({
        expression: `histogram_quantile(${share}, sum by (${['le', ...panel.by].join(', ')}) (rate(${name}_bucket${CHOSEN}[$__rate_interval])))`,
        legend: `${named ? `${named} ` : ''}${share === 0.5 ? 'median' : '99th percentile'}`,
      }))
  }
}

/** The unit by Grafana's name. */
export function unitOf({ kind, unit }: MetricDefinition): string {
  if (unit === 'seconds') return 's'
  if (unit === 'bytes') return kind === 'counter' ? 'Bps' : 'bytes'
  return kind === 'counter' ? 'ops' : 'short'
}

function shortName(name: string): string {
  return name
    .replace(/^nuncio_/, '')
    .replace(/_total$/, '')
    .replaceAll('_', ' ')
}
