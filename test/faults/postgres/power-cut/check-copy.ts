import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PostgresServer, type PostgresSettings } from '../../../support/postgres/postgres-server.ts'
import type { CutCopy, CuttableDisk } from '../../power-cut/cuttable-disk.ts'

export interface WantedRows {
  /** Of the superuser of the original. */
  readonly password: string
  readonly database: string
  /** Finds all rows that are there, as `id`. */
  readonly sql: string
  readonly acked: readonly string[]
}

export interface CopyState {
  /** How many of the acknowledged rows are not there. */
  readonly lost: number
  /** What the server said, when nothing could be read. */
  readonly damage: string | null
}

const DATA_FOLDER = 'postgres'

const SETTINGS = {
  // So that all of its log fits on a small disk.
  min_wal_size: '4MB',
  max_wal_size: '32MB',
  // One call for the whole disk instead of one for each of a thousand files.
  recovery_init_sync_method: 'syncfs',
} as const

/** A server whose data lie on this disk, all of them, from now on. */
export async function openOnDisk(disk: CuttableDisk, settings: PostgresSettings = {}): Promise<PostgresServer> {
  const server = await PostgresServer.open({
    dataFolder: join(disk.path, DATA_FOLDER),
    initdbFlags: ['--wal-segsize=1', '--no-sync'],
    settings: { ...SETTINGS, ...settings },
  })
  await promisify(execFile)('sync', ['--file-system', disk.path])
  return server
}

/** As when the machine comes back. */
export function openOnCopy(copy: CutCopy, password: string): Promise<PostgresServer> {
  return PostgresServer.open({ dataFolder: join(copy.path, DATA_FOLDER), password, settings: SETTINGS })
}

/** Starts a server on what the cut has left, which recovers it, and searches it for every acknowledged row. */
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
