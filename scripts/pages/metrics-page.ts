import { httpStatuses } from '../../src/observability/metrics/label-values.ts'
import type { MetricDefinition } from '../../src/observability/metrics/metric-definition.ts'
import { METRIC_LIST } from '../../src/observability/metrics/metric-table.ts'
import { ALERT_RULES } from '../metrics/alert-rules.ts'
import { markdownTable } from './markdown.ts'

// More would make the table unreadable, and other tables list them already.
const VALUES_SHOWN_UP_TO = 16

/** The text of docs/metrics.md. */
export function makeMetricsPage(): string {
  const rows = METRIC_LIST.map(([name, definition]) => [
    `\`${name}\``,
    definition.kind,
    labelsOf(definition),
    definition.help,
  ])
  const alerts = ALERT_RULES.map(({ name, lasts, summary, next }) => [`\`${name}\``, lasts, summary, next])
  return `# Metrics

\`GET /metrics\` answers in the text form of Prometheus. Who may read it: this machine itself (not through a proxy), the
addresses in \`NUNCIO_METRICS_ALLOWED\`, and requests with \`NUNCIO_METRICS_SECRET\` as \`Authorization: Bearer …\`. Several
processes on one port answer with one text: what is counted is added up.

${markdownTable(['Name', 'Kind', 'Labels and their values', 'Meaning'], rows)}

Every value of a label stands in a list of ours; whatever else comes counts as \`other\`. So no number, no text and no id
can become a label, and the size of the text has a bound.

Beside these come the usual \`process_…\` and \`nodejs_…\` metrics of Node. How late the event loop is (\`nodejs_eventloop_lag_…\`) is
sampled ten times a second, from the first time that the metrics are read.

## Dashboard

\`deploy/grafana/nuncio-dashboard.json\` shows all of them. In Grafana: Dashboards → New → Import → upload the file, and choose
the Prometheus that reads Nuncio. It is printed from the same table as this page.

## Alerts

\`deploy/prometheus/alerts.yaml\` holds these rules, for \`rule_files\` of Prometheus.

${markdownTable(['Alert', 'When it lasts', 'What is so', 'What to do'], alerts)}

How to let Prometheus read Nuncio: [logs and metrics](operating/logs-and-metrics.md).
`
}

function labelsOf({ labels }: MetricDefinition): string {
  const parts = Object.entries(labels).map(([label, values]) => {
    if (values === httpStatuses) return '`status`: of HTTP'
    if (label === 'outcome' && values.includes('replayed'))
      return '`outcome`: `accepted`, `replayed`, or a [refusal](refusals.md)'
    if (values.length > VALUES_SHOWN_UP_TO) return `\`${label}\`: ${values.length} values`
    return `\`${label}\`: ${values.map((value) => `\`${value}\``).join(', ')}`
  })
  return parts.join('; ') || '–'
}
