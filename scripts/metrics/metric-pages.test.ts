import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parse } from 'yaml'
import type { MetricDefinition } from '../../src/observability/metrics/metric-definition.ts'
import { METRIC_LIST } from '../../src/observability/metrics/metric-table.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { makeMetricsPage } from '../pages/metrics-page.ts'
import { ALERT_RULES } from './alert-rules.ts'
import { makeGrafanaDashboard } from './grafana-dashboard.ts'
import { makePrometheusAlerts } from './prometheus-alerts.ts'

interface Dashboard {
  readonly schemaVersion: number
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly {
    readonly id: number
    readonly type: string
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly fieldConfig?: { readonly defaults: { readonly unit: string } }
    readonly targets?: readonly { readonly expr: string; readonly refId: string }[]
  }[]
}

// Labels that Prometheus adds to everything it reads.
const LABELS_OF_PROMETHEUS = ['job', 'instance', 'le']
const NAMES_OF_PROMETHEUS = ['up']

const dashboard = JSON.parse(makeGrafanaDashboard()) as Dashboard
const panels = dashboard.panels.filter(({ type }) => type !== 'row')
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const known = await knownMetrics()

describe('the page of metrics', () => {
  it.each([
    ['nuncio_requests_total', /`status`: of HTTP; /],
    ['nuncio_lanes', /`status`: `sending`, .*`confirmation`, `network`/],
    ['nuncio_sessions', /`status`: `ready`, .*`unlinked`/],
  ])('names the values of the label status of %s', (name, labels) => {
    const [row] = makeMetricsPage()
      .split('\n')
      .filter((line) => line.startsWith(`| \`${name}\` |`))

    assert.match(row ?? '', labels)
  })
})

describe('the dashboard', () => {
  it('shows every metric of the table', () => {
    const missing = METRIC_LIST.filter(([name]) => !expressions.some((text) => namesIn(text).includes(baseOf(name))))

    assert.deepEqual(missing, [])
  })

  it.each(expressions)('queries only existing metrics and labels: %s', (expression) => {
    assert.deepEqual(faultsOf(expression), [])
  })

  it('places its panels without overlap', () => {
    const boxes = dashboard.panels.map(({ gridPos }) => gridPos)
    const overlaps = boxes.flatMap((one, at) =>
      boxes
        .slice(at + 1)
        .filter(
          (other) =>
            one.x < other.x + other.w &&
            other.x < one.x + one.w &&
            one.y < other.y + other.h &&
            other.y < one.y + one.h,
        ),
    )

    assert.deepEqual(overlaps, [])
    assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
  })

  it('distinguishes the lines of a panel, and names their unit', () => {
    for (const { title, targets = [], fieldConfig } of panels) {
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title)
      assert.ok(fieldConfig?.defaults.unit, title)
    }
  })

  it('has a choice of data source, and the format of Grafana 10', () => {
    assert.equal(dashboard.schemaVersion, 39)
    assert.deepEqual(
      dashboard.templating.list.map(({ name }) => name),
      ['datasource', 'job', 'instance'],
    )
  })
})

describe('the alerts', () => {
  const file = parse(makePrometheusAlerts()) as {
    groups: {
      name: string
      rules: { alert: string; expr: string; for: string; labels: object; annotations: object }[]
    }[]
  }

  it('are the rules of the table, as Prometheus reads them', () => {
    const rules = file.groups.flatMap((group) => group.rules)

    assert.deepEqual(
      rules.map((rule) => [rule.alert, rule.expr, rule.for]),
      ALERT_RULES.map(({ name, expression, lasts }) => [name, expression, lasts]),
    )
    for (const rule of rules) {
      assert.match(rule.for, /^\d+m$/)
      assert.deepEqual(Object.keys(rule.annotations), ['summary', 'description'])
    }
  })

  it.each(ALERT_RULES)('$name queries only existing metrics and labels', ({ expression }) => {
    assert.deepEqual(faultsOf(expression), [])
  })
})

describe('the check of expressions', () => {
  it.each([
    ['a metric that there is not', 'rate(nuncio_nothing_total[5m])'],
    ['a label that the metric has not', 'nuncio_lanes{channel="sandbox"}'],
    ['a value that the label never has', 'nuncio_lanes{status="flying"}'],
    ['values of which one never comes', 'nuncio_lanes{status=~"pace|flying"}'],
    ['a grouping by a label that the metric has not', 'sum by (channel) (nuncio_lanes)'],
    ['a bracket too few', 'sum(rate(nuncio_attempts_total[5m])'],
    ['buckets of a counter', 'rate(nuncio_attempts_total_bucket[5m])'],
  ])('finds %s', (_, expression) => {
    assert.notDeepEqual(faultsOf(expression), [])
  })
})

/** The unknown metrics, labels and values in an expression. */
function faultsOf(expression: string): readonly string[] {
  const names = namesIn(expression)
  const faults = names.filter((name) => !known.has(name)).map((name) => `no metric ${name}`)
  if ((expression.match(/[({[]/g) ?? []).length !== (expression.match(/[)}\]]/g) ?? []).length) faults.push('brackets')
  for (const [, name = '', matchers = ''] of expression.matchAll(/(\w+)\{([^}]*)\}/g)) {
    for (const [, label = '', operator, text = ''] of matchers.matchAll(/(\w+)(=~|=|!=|!~)"([^"]*)"/g)) {
      if (LABELS_OF_PROMETHEUS.includes(label)) continue
      const values = known.get(name)?.[label]
      if (!values) faults.push(`${name} has no label ${label}`)
      else if (operator) for (const value of text.split('|')) if (!values.includes(value)) faults.push(`never ${value}`)
    }
  }
  for (const [, labels = ''] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of labels.split(', ').filter((each) => !LABELS_OF_PROMETHEUS.includes(each))) {
      if (!names.every((name) => known.get(name)?.[label])) faults.push(`not all have the label ${label}`)
    }
  }
  return faults
}

function namesIn(expression: string): readonly string[] {
  const bare = expression.replaceAll(/\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)|"[^"]*"/g, ' ')
  return [...bare.matchAll(/\b(?:nuncio|nodejs|process)_\w+|\bup\b/g)].map(([name]) => name)
}

function baseOf(name: string): string {
  const definition = METRIC_LIST.find(([each]) => each === name)?.[1]
  return definition?.kind === 'histogram' ? `${name}_bucket` : name
}

/** Each name under which Prometheus stores a metric of ours, with its labels and their values. */
async function knownMetrics(): Promise<ReadonlyMap<string, MetricDefinition['labels']>> {
  const text = await new Metrics({ waiting: () => 0, lanes: () => 0 }).text()
  const defaults = [...text.matchAll(/^# TYPE ((?:nodejs|process)_\w+)/gm)].map(([, name = '']) => [name, {}] as const)
  const ours = METRIC_LIST.flatMap(([name, { kind, labels }]) =>
    (kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map((end) => [`${name}${end}`, labels] as const),
  )
  return new Map([...NAMES_OF_PROMETHEUS.map((name) => [name, {}] as const), ...defaults, ...ours])
}
