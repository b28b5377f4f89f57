import type { MadeData } from './made-data.ts'

export interface WantedRows {
  readonly waiting: number
  readonly settled: number
}

/** Fills the database of a stopped service, as if it had accepted and settled all these messages before. */
export async function preload(data: MadeData, rows: WantedRows): Promise<void> {
  if (data.engine === 'sqlite') return (await import('./preload-sqlite.ts')).preloadSqlite(data, rows)
  return (await import('./preload-postgres.ts')).preloadPostgres(data, rows)
}
