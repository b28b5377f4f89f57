import { ALERT_RULES, type AlertRule } from './alert-rules.ts'

/** The text of the rule file for Prometheus. */
export function makePrometheusAlerts(): string {
  return [
    '# Alert rules for Prometheus. Printed from scripts/metrics/alert-rules.ts.',
    '# The job is called "nuncio" here, as in docs/operating/logs-and-metrics.md.',
    'groups:',
    '  - name: nuncio',
    '    rules:',
    ...ALERT_RULES.map(ruleOf),
    '',
  ].join('\n')
}

function ruleOf({ name, expression, lasts, severity, summary, next }: AlertRule): string {
  return [
    `      - alert: ${name}`,
    `        expr: ${quoted(expression)}`,
    `        for: ${lasts}`,
    '        labels:',
    `          severity: ${severity}`,
    '        annotations:',
    `          summary: ${quoted(summary)}`,
    `          description: ${quoted(next)}`,
  ].join('\n')
}

/** A JSON string is also a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
