import { chmodSync, statSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../../../core/refusals.ts'
import type { BackupFacts, BackupProgress } from '../../queries/verify/backup-facts.ts'
import { isThere } from '../connection/open-database.ts'
import { pragma } from '../connection/pragma.ts'
import { concernsCopyTarget, damaged, translateOpenError } from '../connection/sqlite-errors.ts'
import { APPLICATION_ID, readApplied } from '../schema/migrate.ts'
import { readBackupFacts } from './read-backup-facts.ts'

// A mebibyte: some milliseconds of the disk, then other processes can use it.
const PAGES_AT_ONCE = 256
const REST_MS = 2
// During the copy the write-ahead log of the service cannot start over, so it grows with each write. Below this size the copy may
// rest; above it, a quick end matters more.
const LOG_MAY_GROW_BYTES = 64 * 1024 * 1024

interface OnlineCopy {
  readonly path: string
  /** Must not be there yet. */
  readonly target: string
  readonly onProgress: (progress: BackupProgress) => void
}

/**
 * Copies a database beside a running service, as it stands at one moment, and checks the copy.
 *
 * SQLite's own backup starts over whenever another connection writes, so beside a busy service it would never finish. It does
 * not start over if its connection has a snapshot open, so this opens one first. `vacuum into` reads a snapshot as well, but
 * rebuilds all trees, without rests and without progress.
 */
export async function copyOnline({ path, target, onProgress }: OnlineCopy): Promise<BackupFacts> {
  // Until the copying begins only the log beside the source is written, and from then on the copy is.
  let written = path
  try {
    if (!isThere(path))
      throw new Refusal('database_unavailable', `There is no database at ${path}, so there is nothing to back up.`)
    const source = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    try {
      refuseForeign(source, path)
      readApplied(source, path)
      source.exec('begin')
      // The snapshot begins with the first read.
      source.prepare('select mark from checkpoint').get()
      written = target
      await copyPages({ source, path, target, onProgress })
    } finally {
      source.close()
    }
  } catch (error) {
    throw translateOpenError(error, concernsCopyTarget(error) ? written : path)
  }
  return finishCopy(target, path, onProgress)
}

function refuseForeign(source: DatabaseSync, path: string): void {
  if (pragma(source, 'application_id') === APPLICATION_ID) return
  throw new Refusal('database_foreign', `${path} is not a database of Nuncio, so it was not backed up.`)
}

async function copyPages({
  source,
  path,
  target,
  onProgress,
}: OnlineCopy & { readonly source: DatabaseSync }): Promise<void> {
  const pageBytes = pragma(source, 'page_size')
  const logBytes = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const logBefore = logBytes()
  const clock = new Int32Array(new SharedArrayBuffer(4))
  await backup(source, target, {
    rate: PAGES_AT_ONCE,
    progress({ totalPages, remainingPages }) {
      onProgress({ doing: 'copying', done: (totalPages - remainingPages) * pageBytes, of: totalPages * pageBytes })
      // The next step begins as soon as this returns, so the rest must be taken here. This process does nothing else.
      if (logBytes() - logBefore < LOG_MAY_GROW_BYTES) Atomics.wait(clock, 0, 0, REST_MS)
    },
  })
  source.exec('commit')
}

/** Makes it one file that can be read without a write-ahead log, and checks every page. */
async function finishCopy(target: string, path: string, onProgress: OnlineCopy['onProgress']): Promise<BackupFacts> {
  chmodSync(target, 0o600)
  const { size } = statSync(target)
  onProgress({ doing: 'checking', done: 0, of: size })
  // Lets the progress be printed before the check blocks the thread.
  await pause(0)
  const copy = new DatabaseSync(target)
  try {
    copy.exec('pragma journal_mode = delete')
    const [finding] = Object.values(copy.prepare('pragma integrity_check(1)').get() ?? {})
    if (finding !== 'ok') throw damaged(path)
    onProgress({ doing: 'checking', done: size, of: size })
    return readBackupFacts(copy)
  } catch (error) {
    throw translateOpenError(error, concernsCopyTarget(error) ? target : path)
  } finally {
    copy.close()
  }
}
