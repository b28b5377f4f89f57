import { stat, statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'
import type { DiskRoom } from '../../core/watchdog/check-disk.ts'
import { spoolFolder } from './spool-folder.ts'

/** How much room there is on the disks of this machine that we write to, each of them once. */
export async function readDisks(settings: Settings): Promise<readonly DiskRoom[]> {
  const { dataDir, database } = settings
  const folders = [
    ...(database.engine === 'sqlite' ? [{ volume: 'database', folder: dirname(database.path) } as const] : []),
    { volume: 'data', folder: dataDir } as const,
    { volume: 'spool', folder: spoolFolder(settings) } as const,
  ]
  const seen = new Set<number>()
  const disks: DiskRoom[] = []
  for (const { volume, folder } of folders) {
    try {
      const { dev } = await stat(folder)
      if (seen.has(dev)) continue
      const { bavail, blocks, bsize } = await statfs(folder)
      seen.add(dev)
      disks.push({ host: hostname(), volume, folder, freeBytes: bavail * bsize, totalBytes: blocks * bsize })
    } catch {
      // It is made when it is first needed. What cannot be read then is told by whoever writes there.
    }
  }
  return disks
}
