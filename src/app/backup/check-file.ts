import { join } from 'node:path'
import { Refusal } from '../../core/refusals.ts'
import type { BackupProgress } from '../../storage/shared/backup-facts.ts'
import { digestFile } from './disk.ts'
import type { BackupFile } from './manifest.ts'

/** Reads a file of a backup through and refuses it with `backup_unusable` when it is not as it was written. */
export async function checkFile(
  folder: string,
  file: BackupFile,
  onProgress: (progress: BackupProgress) => void,
): Promise<void> {
  const path = join(folder, file.name)
  try {
    const found = await digestFile(path, (done) => onProgress({ doing: 'reading', done, of: file.bytes }))
    if (found.sha256 === file.sha256) return
    refuseDifferent(path, file, found.bytes)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    throw new Refusal('backup_unusable', `${path} is missing, so the backup is not whole. Take another one.`)
  }
}

export function refuseDifferent(path: string, { bytes }: BackupFile, found: number): never {
  throw new Refusal(
    'backup_unusable',
    found === bytes
      ? `${path} is damaged: what is in it is not what was written. Nothing of the backup is used. Take another one.`
      : `${path} is damaged: it has ${found} bytes, and ${bytes} were written. Nothing of the backup is used. Take another one.`,
  )
}
