import { readdir } from 'node:fs/promises'
import type { Settings } from '../../config/read-settings.ts'
import type { WorkerId } from '../../core/ids.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import type { Journal } from '../../core/ports/journal.ts'
import type { SweepTimes } from '../../core/retention/plan-sweep.ts'
import { RetentionJob } from '../../core/retention/retention-job.ts'
import { removeCopy, sandboxMediaFolder } from './sandbox-media.ts'
import type { Storage } from './storage.ts'

const DAY_MS = 86_400_000
const COUNT_EVERY_MS = 20 * 3_600_000

interface RetentionParts {
  readonly settings: Settings
  readonly worker: WorkerId
  readonly storage: Pick<Storage, 'retention' | 'clock'>
  readonly journal: Journal
  /** Null where no console is served. */
  readonly console: Pick<ConsoleStore, 'changes'> | null
}

export function sweepTimesOf(settings: Settings): SweepTimes {
  const { retentionBodiesDays, retentionMessagesDays, retentionAuditDays } = settings
  return { bodiesDays: retentionBodiesDays, messagesDays: retentionMessagesDays, auditDays: retentionAuditDays }
}

/** What deletes by age while the service runs. */
export function createRetentionJob({ settings, worker, storage, journal, console }: RetentionParts): RetentionJob {
  let countedAt = Number.NEGATIVE_INFINITY
  return new RetentionJob({
    storage: storage.retention,
    times: sweepTimesOf(settings),
    worker: worker,
    clock: storage.clock,
    journal,
    onDeliveriesGone: (messageIds) => removeCopies(sandboxMediaFolder(settings), messageIds),
    // The figures of the overview are counted by the console's store, which sleeps while it gets no query. What
    // goes before it was counted would be missing there.
    prepare: async () => {
      const { retentionBodiesDays: days } = settings
      if (days > 0) await removeOldCopies(sandboxMediaFolder(settings), storage.clock.now() - days * DAY_MS)
      if (storage.clock.monotonic() - countedAt < COUNT_EVERY_MS) return
      countedAt = storage.clock.monotonic()
      await console?.changes.poll()
    },
  })
}

/** The files of the sandbox's inbox, as far as they lie on this machine. */
async function removeCopies(folder: string, messageIds: readonly string[]): Promise<void> {
  for (const id of messageIds) await removeCopy(folder, id).catch(() => {})
}

/** Another machine may have swept, and it cannot reach this folder. The ids of messages say when they were accepted. */
async function removeOldCopies(folder: string, before: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  await removeCopies(
    folder,
    names.filter((name) => acceptedAt(name) < before),
  )
}

function acceptedAt(id: string): number {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number.NaN
}
