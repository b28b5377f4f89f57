import { makeCommandsPage } from '../src/cli/format/commands-page.ts'
import { makeConfigurationPage, makeEnvExample } from '../src/config/print-settings.ts'
import { makeGrafanaDashboard } from './metrics/grafana-dashboard.ts'
import { makePrometheusAlerts } from './metrics/prometheus-alerts.ts'
import { makeAlarmsPage } from './pages/alarms-page.ts'
import { makeApiPage } from './pages/api-page.ts'
import { makeLimitsPage } from './pages/limits-page.ts'
import { makeMetricsPage } from './pages/metrics-page.ts'
import { makeNoticesPage } from './pages/notices-page.ts'
import { makeReasonsPage } from './pages/reasons-page.ts'
import { makeRefusalsPage } from './pages/refusals-page.ts'
import { makeWhatsAppCloudPage, WHATSAPP_CLOUD_PAGE } from './pages/whatsapp-cloud-page.ts'
import { makeTableTypes } from './table-types.ts'

/** A page generated from tables in the sources, so that both always agree. */
export interface Page {
  readonly file: string
  readonly make: () => string | Promise<string>
}

export const PAGES: readonly Page[] = [
  { file: 'deploy/grafana/nuncio-dashboard.json', make: makeGrafanaDashboard },
  { file: 'deploy/prometheus/alerts.yaml', make: makePrometheusAlerts },
  { file: 'docs/alarms.md', make: makeAlarmsPage },
  { file: 'docs/api.md', make: makeApiPage },
  { file: WHATSAPP_CLOUD_PAGE, make: makeWhatsAppCloudPage },
  { file: 'docs/cli.md', make: makeCommandsPage },
  { file: 'docs/configuration.md', make: makeConfigurationPage },
  { file: '.env.example', make: makeEnvExample },
  { file: 'docs/limits.md', make: makeLimitsPage },
  { file: 'docs/metrics.md', make: makeMetricsPage },
  { file: 'docs/notices.md', make: makeNoticesPage },
  { file: 'docs/reasons.md', make: makeReasonsPage },
  { file: 'docs/refusals.md', make: makeRefusalsPage },
  { file: 'src/storage/queries/tables.generated.ts', make: makeTableTypes },
]
