import { Metrics } from '../../src/app/metrics.ts'
import type { ConnectionId, MessageId } from '../../src/core/ids.ts'
import { markdownTable } from './markdown.ts'

/** The text of docs/metrics.md. */
export async function makeMetricsPage(): Promise<string> {
  const metrics = new Metrics({ waiting: () => 0, lanes: () => 0 })
  countSomething(metrics)
  const text = await metrics.text()
  const rows = [...text.matchAll(/^# HELP (nuncio_\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = '', help = '', kind = '']) => [`\`${name}\``, kind, labelsOf(name, text), help],
  )
  return `# Metrics

\`GET /metrics\` answers in the text form of Prometheus. Who may read it: this machine itself (not through a proxy), the
addresses in \`NUNCIO_METRICS_ALLOWED\`, and whoever brings \`NUNCIO_METRICS_SECRET\` as \`Authorization: Bearer …\`.

${markdownTable(['Name', 'Kind', 'Labels', 'What it counts'], rows)}

Beside these come the usual \`process_…\` and \`nodejs_…\` metrics of Node. What to watch stands in
[logs and metrics](operating/logs-and-metrics.md).
`
}

/** A counter shows its labels only once it has counted. */
function countSomething(metrics: Metrics): void {
  metrics.replied(400, 'number_malformed', 1)
  metrics.consoleReplied(200, 1)
  metrics.callbackReplied(200, 1)
  metrics.record({ event: 'claim.expired' })
  const channel = 'whatsapp-cloud'
  metrics.record({ event: 'callback.received', channel, outcome: 'stored', tookMs: 1 })
  metrics.record({ event: 'callback.applied', channel, kind: 'read', end: 'applied' })
  metrics.record({ event: 'callback.ignored', channel, reason: 'field_unknown', count: 1 })
  metrics.record({
    event: 'attempt.finished',
    messageId: '' as MessageId,
    connectionId: '' as ConnectionId,
    channel: 'sandbox',
    number: 1,
    outcome: 'accepted',
    code: null,
    tookMs: 1,
    next: 'PUBLISHED',
  })
}

function labelsOf(name: string, text: string): string {
  const labels = new Set<string>()
  for (const [, found = ''] of text.matchAll(new RegExp(`^${name}(?:_bucket)?\\{(.*)\\}`, 'gm'))) {
    for (const [, label = ''] of found.matchAll(/(\w+)="/g)) if (label !== 'le') labels.add(`\`${label}\``)
  }
  return [...labels].join(', ') || '–'
}
