import type { BackupRequest } from '../../operations/backup/take-backup.ts'
import type { Cli } from '../cli.ts'

const TOLD_EVERY_MS = 1_000

type Progress = Parameters<BackupRequest['onProgress']>[0]

/** On stderr, so that what a program reads stays clean. What is done within a second is not told at all. */
export function createProgressLine(cli: Cli): (progress: Progress) => void {
  const { err, now } = cli.surroundings
  const begunAt = now()
  let toldAt = begunAt
  return ({ doing, done, of }) => {
    if (now() - toldAt < TOLD_EVERY_MS) return
    toldAt = now()
    const share = of === null ? megabytes(done) : `${megabytes(done)} of ${megabytes(of)}`
    err(`nuncio: ${doing}: ${share} after ${Math.round((toldAt - begunAt) / 1_000)} s\n`)
  }
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
