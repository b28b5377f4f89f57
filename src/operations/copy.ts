import { dirname, resolve, sep } from 'node:path'
import type { DatabaseSettings, Settings } from '../config/read-settings.ts'
import { COPIED, isCopiedHold } from '../core/copied-hold.ts'
import { Refusal } from '../core/refusals.ts'
import { NOTIFIED_BEFORE_MS } from '../core/retention/retention-job.ts'
import { spoolFolder } from '../server/wiring/spool-folder.ts'
import type { CopyTarget } from '../storage/postgres/transfer/copy-target.ts'
import { CheckpointFile, checkFound, type Memory } from '../storage/queries/checkpoint.ts'
import { type CopiedTable, RowDigest, type TableDigest } from '../storage/queries/verify/copied-tables.ts'
import type { CopySource } from '../storage/sqlite/transfer/copy-source.ts'

type Sqlite = Extract<DatabaseSettings, { engine: 'sqlite' }>
type Postgres = Extract<DatabaseSettings, { engine: 'postgres' }>

export interface CopyRequest {
  readonly from: Sqlite
  readonly to: Pick<Postgres, 'url' | 'migrateUrl'>
  /** Whose spool the fetched files lie in. */
  readonly settings: Settings
  readonly onProgress: (progress: CopyProgress) => void
  readonly now: () => number
}

export interface CopyProgress {
  readonly doing: 'copying' | 'comparing'
  readonly table: string
  readonly rows: number
  readonly of: number
}

export interface CopiedCount {
  readonly table: string
  readonly rows: number
  /** The hash of the text of all its rows, the same on both sides. */
  readonly sha256: string
}

export interface Copied {
  readonly counts: readonly CopiedCount[]
  /** Why the lanes of the copy are held; null when they may move. */
  readonly held: CopiedHold | null
}

export interface CopiedHold {
  readonly reason: string
  /** The data were copied once before, and held for that. If no service ever ran on that copy, nothing was sent there. */
  readonly isOfCopy: boolean
}

/**
 * Copies a stopped installation from SQLite to an empty PostgreSQL, in one transaction there, and compares every row
 * before it is committed. From then on the lanes of the old one are held, because what waits is in both places now and would be
 * sent twice. The new lanes are also held if some of what waits may have been sent already (G12).
 */
export async function copyInstallation(request: CopyRequest): Promise<Copied> {
  const { from, to, settings, now } = request
  const [sqlite, postgres, { migrateDatabase }, { describeServer }, { openSpoolId }] = await Promise.all([
    import('../storage/sqlite/transfer/copy-source.ts'),
    import('../storage/postgres/transfer/copy-target.ts'),
    import('../storage/postgres/connection/open-database.ts'),
    import('../storage/postgres/connection/postgres-errors.ts'),
    import('../media/spool-id.ts'),
  ])
  const source = new sqlite.CopySource(from.path)
  try {
    await migrateDatabase(to)
    const folder = resolve(spoolFolder(settings))
    const spool = await openSpoolId(folder)
    const target = await postgres.CopyTarget.open(to.migrateUrl, (path) => (isIn(folder, path) ? spool : null))
    try {
      const counts = await copyTables(source, target, request)
      const held = findHold(source, request)
      if (held) await target.hold(held.reason, now())
      const reason = `${COPIED}PostgreSQL at ${describeServer(to.url)}${new URL(to.url).pathname}`
      await commitBoth(source, target, { reason, at: now() })
      return { counts, held }
    } finally {
      await target.abandon()
    }
  } finally {
    source.close()
  }
}

/** The hold that was copied, or a new one: the old data may have gone back, and no service starts on them that would detect it. */
function findHold(source: CopySource, request: CopyRequest): CopiedHold | null {
  const held = source.heldBecause()
  const reason = howGoneBack(source, request) ?? held
  return reason === null ? null : { reason, isOfCopy: reason === held && isCopiedHold(held) }
}

/** Why the data may be older than they were; null when they are not. */
function howGoneBack(source: CopySource, { from, settings }: CopyRequest): string | null {
  const found = source.found()
  const beside = readRemembered(dirname(from.path))
  // The checkpoint of another installation does not count: its data folder has nothing to do with this one.
  const served = readRemembered(settings.dataDir)
  const isOurs = served !== null && (served === 'unreadable' || served.installation === found.installation)
  for (const remembered of isOurs ? [beside, served] : [beside]) {
    const finding = checkFound(remembered, found)
    if (finding.is !== 'as-remembered') return finding.reason
  }
  return null
}

function readRemembered(folder: string): Memory {
  return CheckpointFile.in(folder).read()
}

async function copyTables(source: CopySource, target: CopyTarget, { onProgress }: CopyRequest): Promise<CopiedCount[]> {
  const tables = source.tables()
  const written = new Map<CopiedTable, TableDigest>()
  for (const table of tables) {
    const of = source.count(table)
    const digest = new RowDigest()
    for (const rows of source.rows(table)) {
      const kept = rows.map((row) => target.asKept(row))
      await target.write(table, kept)
      digest.add(kept)
      onProgress({ doing: 'copying', table: table.name, rows: digest.rows, of })
    }
    written.set(table, digest.finish())
  }
  await target.learnSizes(tables)
  for (const [table, expected] of written) {
    const found = await digestOf(target, table, { of: expected.rows, onProgress })
    refuseDifferent(table, expected, found)
  }
  for (const table of ['audit', 'channel_memory', 'notice'] as const)
    await target.advance(table, source.highestNumber(table))
  await target.endPeriodOfCopies()
  await target.waitWithRetention(NOTIFIED_BEFORE_MS)
  return Array.from(written, ([table, digest]) => ({ table: table.name, ...digest }))
}

async function digestOf(
  target: CopyTarget,
  table: CopiedTable,
  { of, onProgress }: { readonly of: number; readonly onProgress: CopyRequest['onProgress'] },
): Promise<TableDigest> {
  const digest = new RowDigest()
  for await (const rows of target.rows(table)) {
    digest.add(rows)
    onProgress({ doing: 'comparing', table: table.name, rows: digest.rows, of })
  }
  return digest.finish()
}

function refuseDifferent({ name }: CopiedTable, expected: TableDigest, found: TableDigest): void {
  if (found.rows === expected.rows && found.sha256 === expected.sha256) return
  const what =
    found.rows === expected.rows ? 'other values in its rows' : `${found.rows} rows instead of ${expected.rows}`
  throw new Refusal(
    'copy_differs',
    `The copy of the table ${name} has ${what}. Nothing was kept of the copy, and the old database is as it was. Check for triggers or rules in the new database that are not ours.`,
  )
}

/**
 * The old one first: if this process died in between, its lanes would be held for no reason, which a person can undo. The
 * other way round, both would send what waits.
 */
async function commitBoth(
  source: CopySource,
  target: CopyTarget,
  { reason, at }: { reason: string; at: number },
): Promise<void> {
  const isPlaced = source.hold(reason, at)
  const unknown = await target.commit().catch((error: unknown) => {
    if (isPlaced) source.release(reason, at)
    throw error
  })
  // Then the old one stays held, and says why.
  if (unknown) throw unknown
}

function isIn(folder: string, path: string): boolean {
  return resolve(path).startsWith(folder + sep)
}
