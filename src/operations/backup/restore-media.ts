import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BackupProgress } from '../../storage/queries/verify/backup-facts.ts'
import { locateFile, refuseDifferent } from './check-file.ts'
import { copyFile, sync } from './disk.ts'
import { type Manifest, MEDIA_FOLDER } from './manifest.ts'

interface MediaRequest {
  readonly manifest: Manifest
  readonly folder: string
  /** The spool. */
  readonly to: string
  readonly onProgress: (progress: BackupProgress) => void
}

/** Restores fetched files, without replacing any. Done before the database, because without it they have no effect. */
export async function restoreMedia({ manifest, folder, to, onProgress }: MediaRequest): Promise<void> {
  const files = manifest.files.filter(({ name }) => name.startsWith(`${MEDIA_FOLDER}/`))
  const of = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let before = 0
  for (const file of files) {
    const path = join(to, file.name.slice(MEDIA_FOLDER.length + 1))
    if (existsSync(path)) continue
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const part = path.replace(/\.media$/, '.part')
    await rm(part, { force: true })
    const from = await locateFile(folder, file.name)
    const copied = await copyFile(from, part, (bytes) => onProgress({ doing: 'restoring', done: before + bytes, of }))
    if (copied.sha256 !== file.sha256) {
      await rm(part, { force: true })
      refuseDifferent(from, file, copied.bytes)
    }
    await rename(part, path)
    await sync(dirname(path))
    before += file.bytes
  }
}
