import { type MetricDefinition, ROWS, type Row } from '../../src/observability/metrics/metric-definition.ts'
import { METRIC_LIST } from '../../src/observability/metrics/metric-table.ts'
import { DEFAULT_PANELS } from './default-panels.ts'
import { type PanelQuery, queriesOf, unitOf } from './panel-queries.ts'

// The schema of Grafana 10. Later versions convert it when they load the dashboard.
const SCHEMA_VERSION = 39
const COLUMNS = 24
const PANELS_IN_A_LINE = 3
const PANEL_HEIGHT = 8
const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const

interface Panel {
  readonly title: string
  readonly help: string
  readonly unit: string
  readonly queries: readonly PanelQuery[]
}

/** The text of the dashboard's file. */
export function makeGrafanaDashboard(): string {
  return `${JSON.stringify(
    {
      title: 'Nuncio',
      uid: 'nuncio',
      description: 'Printed from the table of metrics.',
      tags: ['nuncio'],
      schemaVersion: SCHEMA_VERSION,
      editable: true,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      timezone: 'browser',
      templating: { list: variables() },
      annotations: { list: [] },
      panels: layOut(),
    },
    null,
    2,
  )}\n`
}

function variables(): readonly object[] {
  const choice = (name: string, query: string) => ({
    name,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
  })
  return [
    { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source', refresh: 1 },
    choice('job', 'label_values(nuncio_messages_waiting, job)'),
    choice('instance', 'label_values(nuncio_messages_waiting{job=~"$job"}, instance)'),
  ]
}

function layOut(): readonly object[] {
  const laidOut: object[] = []
  let y = 0
  for (const row of ROWS) {
    const panels = panelsOf(row)
    laidOut.push({
      id: laidOut.length + 1,
      type: 'row',
      title: row,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    })
    y += 1
    for (const [at, panel] of panels.entries()) {
      const w = COLUMNS / PANELS_IN_A_LINE
      const gridPos = { x: (at % PANELS_IN_A_LINE) * w, y, w, h: PANEL_HEIGHT }
      laidOut.push(timeSeries(laidOut.length + 1, panel, gridPos))
      if (at % PANELS_IN_A_LINE === PANELS_IN_A_LINE - 1 || at === panels.length - 1) y += PANEL_HEIGHT
    }
  }
  return laidOut
}

/** Metrics with the same title share a panel. */
function panelsOf(row: Row): readonly Panel[] {
  const byTitle = new Map<string, Panel>()
  for (const [name, definition] of METRIC_LIST as readonly (readonly [string, MetricDefinition])[]) {
    const { panel, help } = definition
    if (panel.row !== row) continue
    const known = byTitle.get(panel.title)
    byTitle.set(panel.title, {
      title: panel.title,
      help: known ? `${known.help} ${help}` : help,
      unit: unitOf(definition),
      queries: [...(known?.queries ?? []), ...queriesOf(name, definition)],
    })
  }
  return row === 'Process' ? [...DEFAULT_PANELS, ...byTitle.values()] : [...byTitle.values()]
}

function timeSeries(id: number, { title, help, unit, queries }: Panel, gridPos: object): object {
  return {
    id,
    type: 'timeseries',
    title,
    description: help,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { drawStyle: 'line', fillOpacity: 10, showPoints: 'never', lineWidth: 1 } },
      overrides: [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: queries.map(({ expression, legend }, at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr: expression,
      legendFormat: legend,
      range: true,
    })),
  }
}
