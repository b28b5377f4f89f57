import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Refusal } from '../../core/refusals.ts'
import {
  compareWithReplaced,
  holdRestored,
  lockForRestore,
  putInPlace,
  readFactsOf,
  refuseOtherSchema,
} from '../../storage/sqlite/transfer/restored-database.ts'
import { locateFile, refuseDifferent } from './check-file.ts'
import { copyFile, refuseTooLarge, sync } from './disk.ts'
import { type Manifest, SQLITE_NAME } from './manifest.ts'
import type { Put, Putting } from './restore-request.ts'

/** Makes the copy beside its place and holds its lanes there. The last step is a rename. */
export async function putSqlite(putting: Putting): Promise<Put> {
  const { request, stamp } = putting
  const { database } = request.settings
  if (database.engine !== 'sqlite') throw new Error('The database is not of SQLite')
  const { path } = database
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const lock = lockForRestore(path)
  const draft = `${path}.restoring`
  try {
    const isThere = existsSync(path)
    if (isThere && !request.replace) {
      throw new Refusal(
        'database_not_empty',
        `There is a database at ${path} already. Add --replace to move it aside, where it is kept.`,
      )
    }
    await rm(draft, { force: true })
    await bring(draft, putting)
    const aside = isThere ? join(dirname(path), `replaced-${stamp}`) : null
    putInPlace({ from: draft, path, aside })
    await sync(dirname(path))
    const since = aside === null ? null : compareWithReplaced(join(aside, basename(path)), path, putting.past)
    return { aside, since }
  } finally {
    for (const rest of ['', '-journal', '-wal', '-shm']) await rm(`${draft}${rest}`, { force: true })
    lock.release()
  }
}

async function bring(draft: string, { manifest, folder, request, hold }: Putting): Promise<void> {
  const file = manifest.files.find(({ name }) => name === SQLITE_NAME)
  if (!file) throw new Error('The manifest names no database')
  const from = await locateFile(folder, file.name)
  await refuseTooLarge(dirname(draft), file.bytes)
  const onBytes = (done: number) => request.onProgress({ doing: 'restoring', done, of: file.bytes })
  const copied = await copyFile(from, draft, onBytes)
  if (copied.sha256 !== file.sha256) refuseDifferent(from, file, copied.bytes)
  refuseOtherSchema(draft)
  refuseOther(draft, manifest)
  holdRestored(draft, hold)
  await sync(draft)
}

/** A manifest that belongs to another database. */
function refuseOther(draft: string, manifest: Manifest): void {
  const { installation, mark, holds } = readFactsOf(draft)
  if (installation === manifest.installation && mark === manifest.mark && holds === manifest.holds) return
  throw new Refusal(
    'backup_unusable',
    'The manifest of this backup describes another database than the one beside it, so it is not used. Take another backup.',
  )
}
