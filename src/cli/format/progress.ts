import { bytesText } from '../../format/bytes.ts'
import type { BackupRequest } from '../../operations/backup/take-backup.ts'
import type { Cli } from '../cli.ts'

const REPORT_EVERY_MS = 1_000

type Progress = Parameters<BackupRequest['onProgress']>[0]

/** On stderr, so that what a program reads stays clean. Work that takes less than a second prints nothing. */
export function createProgressLine(cli: Cli): (progress: Progress) => void {
  const { err, now } = cli.surroundings
  const begunAt = now()
  let reportedAt = begunAt
  return ({ doing, done, of }) => {
    if (now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = now()
    const share = of === null ? bytesText(done) : `${bytesText(done)} of ${bytesText(of)}`
    err(`nuncio: ${doing}: ${share} after ${Math.round((reportedAt - begunAt) / 1_000)} s\n`)
  }
}
