import type { Bench } from './bench.ts'
import type { EngineName } from './engine.ts'
import type { Figure } from './figure.ts'
import type { MadeData } from './made-data.ts'
import { ask, type ServerSpent } from './postgres-for-bench.ts'
import { median } from './statistics.ts'

/** What the database server spends on each message. */
export interface PerMessage {
  readonly walBytes: number
  readonly cpuUs: number
}

/** Null for SQLite, which works in our own process. */
export async function spentBy(bench: Bench, engine: EngineName): Promise<ServerSpent | null> {
  return engine === 'sqlite' ? null : (await bench.postgres()).spent()
}

export function perMessage(before: ServerSpent | null, after: ServerSpent | null, messages: number): PerMessage | null {
  if (!before || !after) return null
  return {
    walBytes: (after.walBytes - before.walBytes) / messages,
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) / messages) * 1e6,
  }
}

/** Empty for an engine without a server. */
export function serverFigures(
  part: string,
  name: string,
  turns: readonly { readonly server: PerMessage | null }[],
): Figure[] {
  const known = turns.flatMap(({ server }) => server ?? [])
  if (known.length === 0) return []
  const figureOf = (what: string, unit: string, rounds: readonly number[]) => {
    return {
      part,
      name: `${name}: ${what}`,
      value: median(rounds),
      unit,
      reach: null,
      rounds,
      note: 'for each message',
    }
  }
  const cpus = known.map(({ cpuUs }) => cpuUs).filter((cpu) => !Number.isNaN(cpu))
  return [
    figureOf(
      'write-ahead log',
      'B',
      known.map(({ walBytes }) => walBytes),
    ),
    ...(cpus.length > 0 ? [figureOf('CPU of the server', 'µs', cpus)] : []),
  ]
}

/** How much room the rows of a table take now. Empty for SQLite, whose file does not show it. */
export async function roomFigures(part: string, table: 'queued' | 'settled', data: MadeData): Promise<Figure[]> {
  if (data.engine === 'sqlite') return []
  const [row] = await ask<{ rows: string; table_bytes: string; index_bytes: string }>(
    data.database,
    `select (select count(*) from ${table}) as rows, sum(pg_table_size(relid)) as table_bytes,
         sum(pg_indexes_size(relid)) as index_bytes from pg_partition_tree('${table}')`,
  )
  // A table without partitions has no partition tree.
  const [plain] = await ask<{ table_bytes: string; index_bytes: string }>(
    data.database,
    `select pg_table_size('${table}') as table_bytes, pg_indexes_size('${table}') as index_bytes`,
  )
  const rows = Number(row?.rows)
  if (rows === 0) return []
  const figureOf = (what: 'table_bytes' | 'index_bytes'): Figure => ({
    part,
    name: `${table}, ${what === 'table_bytes' ? 'table' : 'indexes'}`,
    value: Number(row?.[what] ?? plain?.[what]) / rows,
    unit: 'B',
    reach: null,
    rounds: [],
    note: `for each of ${rows.toLocaleString('en')} rows`,
  })
  return [figureOf('table_bytes'), figureOf('index_bytes')]
}
