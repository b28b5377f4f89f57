import type { Instant } from '../ids.ts'
import type { Finding } from './alarm.ts'

const MB = 1_048_576
const GB = 1_024 * MB
/** A tenth of a very large disk is still large, so the share is taken of at most this much. */
const COUNTED_AT_MOST_BYTES = 200 * GB
const LEAST_FREE_BYTES = GB
const CRITICAL_FREE_BYTES = 200 * MB
const CRITICAL_SHARE = 0.02
/** An alarm stays until there is clearly more room than the limit. */
const KEPT_FACTOR = 1.2

/** Room on the disk of a folder that we write to. */
export interface DiskRoom {
  readonly host: string
  /** What lies in it. */
  readonly volume: 'data' | 'spool' | 'database'
  readonly folder: string
  readonly freeBytes: number
  readonly totalBytes: number
}

/** Pure. `freeShare` 0: switched off. */
export function checkDisk(disk: DiskRoom, freeShare: number, now: Instant): Finding | null {
  if (freeShare === 0) return null
  const { host, volume, folder, freeBytes, totalBytes } = disk
  const counted = Math.min(totalBytes, COUNTED_AT_MOST_BYTES)
  // A disk of less than a few GB never has much room, so for it the minimum is smaller.
  const limit = Math.max(counted * freeShare, Math.min(LEAST_FREE_BYTES, totalBytes / 4))
  if (freeBytes >= limit * KEPT_FACTOR) return null
  const isCritical = freeBytes < Math.max(counted * CRITICAL_SHARE, Math.min(CRITICAL_FREE_BYTES, totalBytes / 10))
  return {
    kind: 'disk_filling',
    accountId: null,
    object: diskObject(host, folder),
    severity: isCritical ? 'critical' : 'warning',
    since: now,
    facts: { host, volume, folder, freeBytes: inMb(freeBytes), totalBytes: inMb(totalBytes) },
    raises: freeBytes < limit,
  }
}

function diskObject(host: string, folder: string): string {
  return `${host}:${folder}`
}

/** Rounded, so that the sentence does not change with every write. */
function inMb(bytes: number): number {
  return Math.floor(bytes / MB) * MB
}
