import { statfs } from 'node:fs/promises'
import { bytesText } from '../../../format/bytes.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'
import { findMount, type Mount } from '../machine/find-mount.ts'
import { nearestFolder } from '../machine/nearest-folder.ts'
import { readText } from '../machine/read-text.ts'

const MB = 1024 * 1024
// Below this the next few media files fill it, and then nothing is accepted.
const LEAST_FREE_BYTES = 512 * MB
const PROBLEM_FREE_BYTES = 64 * MB
const LEAST_FREE_SHARE = 0.05
const LEAST_FREE_FILES = 1_000

// Locks and shared memory of SQLite do not work across machines, whatever the share claims.
const SHARES = /^(nfs|nfs4|cifs|smb3|smbfs|9p|afs|ceph|glusterfs|lustre|fuse\.(sshfs|glusterfs|s3fs|rclone|davfs))$/
const IN_MEMORY = /^(tmpfs|ramfs)$/
const OF_CONTAINER = /^(overlay|aufs)$/

/** Room on the disk, and what is written on it. */
export interface Room {
  readonly freeBytes: number
  readonly totalBytes: number
  /** Null where the file system does not count them. */
  readonly freeFiles: number | null
}

export async function checkDisk({ dataDir, settings }: Examination): Promise<readonly CheckResult[]> {
  if (dataDir === null) return [skipped('NUNCIO_DATA_DIR is wrong, so there is no disk to check.')]
  const folder = nearestFolder(dataDir)
  const { bavail, bsize, blocks, ffree, files } = await statfs(folder)
  const room = { freeBytes: bavail * bsize, totalBytes: blocks * bsize, freeFiles: files > 0 ? ffree : null }
  const isSqlite = settings?.database.engine !== 'postgres'
  return [assessRoom(room), assessMount(findMount(readText('/proc/self/mountinfo') ?? '', folder), isSqlite)]
}

/** Pure. */
export function assessRoom({ freeBytes, totalBytes, freeFiles }: Room): CheckResult {
  const facts = { freeBytes, totalBytes, freeFiles }
  const free = bytesText(freeBytes)
  const makeRoom = 'Make room, or move NUNCIO_DATA_DIR to a larger disk.'
  if (freeBytes < PROBLEM_FREE_BYTES)
    return problem(`Only ${free} are free: when they are used up, nothing is accepted any more.`, makeRoom, facts)
  if (freeFiles !== null && freeFiles < LEAST_FREE_FILES)
    return warning(
      `The disk can hold only ${freeFiles} more files, however small (inodes).`,
      'Remove files that are not needed, or move NUNCIO_DATA_DIR to another disk.',
      facts,
    )
  if (freeBytes < LEAST_FREE_BYTES || freeBytes < totalBytes * LEAST_FREE_SHARE)
    return warning(`Only ${free} of ${bytesText(totalBytes)} are free.`, makeRoom, facts)
  return ok(`${free} of ${bytesText(totalBytes)} are free.`, facts)
}

/** Pure. `isSqlite`: the database itself lies there. */
export function assessMount(mount: Mount | null, isSqlite: boolean): CheckResult {
  if (!mount) return skipped('This system does not say what kind of disk the data folder lies on.')
  const { type, source, point, options } = mount
  const facts = { type, source, mount: point }
  if (options.includes('ro'))
    return problem(`The disk at ${point} is mounted read-only.`, 'Check the disk for errors, and mount it anew.', facts)
  if (SHARES.test(type))
    return isSqlite
      ? problem(
          `The data folder lies on a network share (${type}), where SQLite can neither lock nor be sure of what it wrote.`,
          'Move NUNCIO_DATA_DIR to a local disk, or use PostgreSQL.',
          facts,
        )
      : warning(
          `The data folder lies on a network share (${type}): media waits for the network.`,
          'A local disk is faster. The database is not there, so nothing is lost.',
          facts,
        )
  if (IN_MEMORY.test(type))
    return warning(
      `The data folder lies in memory (${type}): nothing there outlives a restart of the machine.`,
      'Move NUNCIO_DATA_DIR to a disk.',
      facts,
    )
  if (OF_CONTAINER.test(type))
    return warning(
      `The data folder lies in the layer of a container (${type}), which goes when the container is replaced.`,
      'Mount a volume at NUNCIO_DATA_DIR.',
      facts,
    )
  return ok(`The data folder lies on a local disk (${type}, mounted at ${point}).`, facts)
}
