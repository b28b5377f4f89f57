import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PostgresServer, type PostgresSettings } from '../../../support/postgres/postgres-server.ts'
import type { CutCopy, CuttableDisk } from '../../power-cut/cuttable-disk.ts'

export interface WantedRows {
  /** The password of the superuser on the original. */
  readonly password: string
  readonly database: string
  /** Selects all rows that exist, as `id`. */
  readonly sql: string
  readonly acked: readonly string[]
}

export interface CopyState {
  /** How many acknowledged rows are missing. */
  readonly lost: number
  /** What the server said if nothing could be read. */
  readonly damage: string | null
}

const DATA_FOLDER = 'postgres'

const SETTINGS = {
  // Keeps the whole log on a small disk.
  min_wal_size: '4MB',
  max_wal_size: '32MB',
  // One call for the whole disk instead of one for each of a thousand files.
  recovery_init_sync_method: 'syncfs',
} as const

/** A server with all its data on this disk from now on. */
export async function openOnDisk(disk: CuttableDisk, settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await PostgresServer.open({
    dataFolder: join(disk.path, DATA_FOLDER),
    initdbFlags: ['--wal-segsize=1', '--no-sync'],
    settings: { ...SETTINGS, ...settings },
  })
  await promisify(execFile)('sync', ['--file-system', disk.path])
  return server
}

/** Opens a server on the copy, as when the machine comes back. */
export function openOnCopy(copy: CutCopy, password: string): Promise<PostgresServer> {
  return PostgresServer.open({ dataFolder: join(copy.path, DATA_FOLDER), password, settings: SETTINGS })
}

/** Starts a server on what the cut has left, which recovers the data. Then searches for every acknowledged row. */
export async function checkCopy(copy: CutCopy, { password, database, sql, acked }: WantedRows): Promise<CopyState> {
  try {
    const server = await openOnCopy(copy, password)
    try {
      const found = new Set((await server.query<{ id: string }>(sql, [], database)).map(({ id }) => String(id)))
      return { lost: acked.filter((id) => !found.has(id)).length, damage: null }
    } finally {
      await server.close()
    }
  } catch (error) {
    return { lost: acked.length, damage: error instanceof Error ? error.message : String(error) }
  }
}
