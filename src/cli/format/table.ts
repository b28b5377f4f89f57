import type { Environment } from '../environment.ts'
import { printable } from './printable.ts'

export interface Table {
  readonly columns: readonly string[]
  readonly rows: AsyncIterable<readonly string[]> | Iterable<readonly string[]>
  /** Said instead of a table without rows: what it is, and the next step. */
  readonly whenEmpty: string
}

// The widths come from the first rows, so that a list of millions begins at once; later rows may stand out a little.
const MEASURED_ROWS = 200
const GAP = '  '

export async function printTable(
  { columns, rows, whenEmpty }: Table,
  { out, heading }: Pick<Environment, 'out' | 'heading'>,
): Promise<void> {
  let widths: readonly number[] | null = null
  let measured: (readonly string[])[] = []
  const flush = async () => {
    if (measured.length === 0) return
    if (!widths) {
      const known = columns.map((name, index) =>
        Math.max(name.length, ...measured.map((row) => width(row[index] ?? ''))),
      )
      widths = known
      await out(`${heading(line(columns, known))}\n`)
    }
    const known = widths
    await out(`${measured.map((row) => line(row, known)).join('\n')}\n`)
    measured = []
  }

  let isEmpty = true
  for await (const row of rows) {
    isEmpty = false
    measured.push(row.map(printable))
    if (measured.length >= MEASURED_ROWS) await flush()
  }
  await flush()
  if (isEmpty) await out(`${whenEmpty}\n`)
}

function line(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => cell + ' '.repeat(Math.max(0, (widths[index] ?? 0) - width(cell))))
    .join(GAP)
    .trimEnd()
}

function width(text: string): number {
  return Array.from(text).length
}
