import { ENGINE_TITLES, ENGINES, type EngineName } from './engine.ts'
import { type Figure, formatNumber, formatReach, isReached, type PlacedFigure } from './figure.ts'
import type { MachineFacts } from './machine-facts.ts'

export interface BenchResults {
  readonly at: string
  readonly machine: MachineFacts
  /** The server and its settings; null if nothing was measured on it. */
  readonly postgres: string | null
  /** If it is far from the one before, something else used the disk, and the figures say little. */
  readonly flushP50MsAfter: number
  readonly options: Readonly<Record<string, unknown>>
  readonly figures: readonly PlacedFigure[]
}

/** A header and its rows. */
export type Table = readonly (readonly string[])[]

export function describeMachine({ machine, postgres, flushP50MsAfter }: BenchResults): string {
  const { cores, processor, memoryGb, system, node, sqlite, flushP50Ms, flushP99Ms } = machine
  const { writesOutAfterSeconds, staysAwakeUs } = machine
  const writesOut = writesOutAfterSeconds === null ? '' : `; pages written out after ${writesOutAfterSeconds} s`
  const awake = staysAwakeUs === null ? '' : `; a core without work stays awake for up to ${staysAwakeUs} µs`
  return (
    `${cores} cores (${processor}), ${memoryGb} GB, ${system}, Node ${node}, SQLite ${sqlite}` +
    `${postgres === null ? '' : `, ${postgres}`}${writesOut}${awake}; ` +
    `flush of one page: p50 ${flushP50Ms} ms, p99 ${flushP99Ms} ms before, p50 ${flushP50MsAfter} ms after`
  )
}

/** One table with our engines side by side, and one for figures of neither. Empty tables are left out. */
export function tablesOf({ figures }: Pick<BenchResults, 'figures'>): readonly Table[] {
  const names = new Set(figures.flatMap(({ engine, name }) => (engine === null ? [] : [name])))
  const find = (name: string, engine: EngineName) => figures.find((one) => one.name === name && one.engine === engine)
  const ours = [...names].map((name) => [
    name,
    ...ENGINES.map((engine) => cellOf(find(name, engine))),
    noteOf(ENGINES.map((engine) => find(name, engine)?.note ?? '')),
  ])
  const others = figures.flatMap((figure) =>
    figure.engine === null ? [[figure.name, cellOf(figure), figure.note]] : [],
  )
  return [
    [['What', ...ENGINES.map((engine) => ENGINE_TITLES[engine]), 'Note'], ...ours],
    [['Beside others', 'Measured', 'Note'], ...others],
  ].filter((table) => table.length > 1)
}

/** The figure and, if there is a requirement, whether it is reached. */
function cellOf(figure: Figure | undefined): string {
  if (!figure || Number.isNaN(figure.value)) return ''
  const { value, unit, reach } = figure
  const unitText = unit === '' || unit === '/s' ? unit : ` ${unit}`
  const asked = reach ? ` (${formatReach(reach)}${unitText}: ${isReached(figure) ? 'yes' : 'no'})` : ''
  return `${formatNumber(value)}${unitText}${asked}`
}

function noteOf(notes: readonly string[]): string {
  const distinct = [...new Set(notes.filter((note) => note !== ''))]
  if (distinct.length < 2) return distinct.join('')
  return ENGINES.map((engine, place) => `${ENGINE_TITLES[engine]}: ${notes[place] ?? ''}`).join(' · ')
}

/** The tables as text for people. */
export function printResults(results: BenchResults): string {
  return ['', describeMachine(results), ...tablesOf(results).flatMap((table) => ['', ...linesOf(table)])].join('\n')
}

function linesOf(table: Table): string[] {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
