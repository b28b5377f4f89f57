import { lstat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '../../core/refusals.ts'
import type { BackupProgress } from '../../storage/queries/verify/backup-facts.ts'
import { digestFile } from './disk.ts'
import type { BackupFile } from './manifest.ts'

/** Reads a file of a backup through and refuses it with `backup_unusable` when it is not as it was written. */
export async function checkFile(
  folder: string,
  file: BackupFile,
  onProgress: (progress: BackupProgress) => void,
): Promise<void> {
  const path = await locateFile(folder, file.name)
  const found = await digestFile(path, (done) => onProgress({ doing: 'reading', done, of: file.bytes }))
  if (found.sha256 !== file.sha256) refuseDifferent(path, file, found.bytes)
}

/**
 * The path of a file of a backup. Refuses with `backup_unusable` what is missing, what a link leads to, which may lie
 * outside, and what is no file, such as a pipe, which would never end.
 */
export async function locateFile(folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  for (const part of [path, ...foldersAbove(name).map((above) => join(folder, above))]) {
    const found = await lstat(part).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
        throw unusable(`${path} is missing, so the backup is not whole. Take another one.`)
      throw error
    })
    if (found.isSymbolicLink())
      throw unusable(`${part} is a link, and a backup has none. Nothing of it is used. Take another one.`)
    if (part === path && !found.isFile())
      throw unusable(`${path} is no regular file, so nothing of the backup is used. Take another one.`)
  }
  return path
}

function foldersAbove(name: string): readonly string[] {
  const above = dirname(name)
  return above === '.' ? [] : [above, ...foldersAbove(above)]
}

function unusable(sentence: string): Refusal {
  return new Refusal('backup_unusable', sentence)
}

export function refuseDifferent(path: string, { bytes }: BackupFile, found: number): never {
  throw new Refusal(
    'backup_unusable',
    found === bytes
      ? `${path} is damaged: what is in it is not what was written. Nothing of the backup is used. Take another one.`
      : `${path} is damaged: it has ${found} bytes, and ${bytes} were written. Nothing of the backup is used. Take another one.`,
  )
}
