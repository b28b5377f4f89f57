import { stat, statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'
import type { WorkerId } from '../../core/ids.ts'
import type { Channel } from '../../core/ports/channel.ts'
import type { Journal } from '../../core/ports/journal.ts'
import { announceAlarms } from '../../core/watchdog/announce-alarms.ts'
import type { DiskRoom } from '../../core/watchdog/check-disk.ts'
import { Watchdog, type WatchState } from '../../core/watchdog/watchdog.ts'
import { spoolFolder } from './spool-folder.ts'
import type { Storage } from './storage.ts'

// Assumed for a channel that this process does not know. Longer than any call of ours.
const LONGEST_CALL_MS = 300_000

interface WatchingParts {
  readonly settings: Settings
  readonly worker: WorkerId
  readonly storage: Storage
  readonly channels: ReadonlyMap<string, Channel>
  readonly journal: Journal
  /** Requests that were answered with 503 so far, because they could not be stored. */
  readonly countRefused: () => number
  readonly onChecked: (state: WatchState) => void
}

/** The watchdog of one process. Each has one, whatever its roles: of all of them one watches the database. */
export function createWatchdog({
  settings,
  worker,
  storage,
  channels,
  journal,
  countRefused,
  onChecked,
}: WatchingParts): Watchdog {
  const { watch, clock, health } = storage
  let refusedBefore = 0
  return new Watchdog({
    watch,
    watcher: worker,
    host: hostname(),
    pid: process.pid,
    clock,
    journal,
    limits: {
      oldestWaitingMs: settings.alarmOldestWaitingMinutes * 60_000,
      diskFreeShare: settings.alarmDiskFreePercent / 100,
    },
    readDisks: () => readDisks(settings),
    takeOutage() {
      const outage = health.takeOutage()
      if (health.error) return null
      const refused = countRefused() - refusedBefore
      refusedBefore += refused
      return outage && { ...outage, refused }
    },
    callBudgetMs: (name) => channels.get(name)?.capabilities.callBudgetMs ?? LONGEST_CALL_MS,
    announce: (now) => announceAlarms({ watch, notifications: storage.notices }, now),
    onChecked,
  })
}

/** How much room there is on the disks of this machine that we write to, each of them once. */
async function readDisks(settings: Settings): Promise<readonly DiskRoom[]> {
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
      // The folder is created when it is first needed. Its writer reports any other failure.
    }
  }
  return disks
}
