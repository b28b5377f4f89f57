import { type Figure, formatNumber, formatReach, isReached } from './figure.ts'
import type { MachineFacts } from './machine-facts.ts'

export interface BenchResults {
  readonly at: string
  readonly machine: MachineFacts
  /** Far from the one before: something else used the disk, and the figures say little. */
  readonly flushP50MsAfter: number
  readonly options: Readonly<Record<string, unknown>>
  readonly figures: readonly Figure[]
}

export function describeMachine({ machine, flushP50MsAfter }: BenchResults): string {
  const { cores, processor, memoryGb, system, node, sqlite, flushP50Ms, flushP99Ms } = machine
  return (
    `${cores} cores (${processor}), ${memoryGb} GB, ${system}, Node ${node}, SQLite ${sqlite}; ` +
    `flush of one page: p50 ${flushP50Ms} ms, p99 ${flushP99Ms} ms before, p50 ${flushP50MsAfter} ms after`
  )
}

export const COLUMNS = ['What', 'Measured', 'Reach', 'Reached', 'Note'] as const

export function rowOf(figure: Figure): readonly string[] {
  const { name, value, unit, reach, note } = figure
  const reached = isReached(figure)
  const unitText = unit === '' || unit === '/s' ? unit : ` ${unit}`
  return [
    name,
    `${formatNumber(value)}${unitText}`,
    reach ? `${formatReach(reach)}${unitText}` : '',
    reached === null ? '' : reached ? 'yes' : 'no',
    note,
  ]
}

/** The table for people. */
export function printResults(results: BenchResults): string {
  const rows = [COLUMNS, ...results.figures.map(rowOf)]
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return ['', describeMachine(results), '', ...lines].join('\n')
}
