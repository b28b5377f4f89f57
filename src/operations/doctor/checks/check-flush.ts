import type { Examination } from '../examination.ts'
import { type CheckResult, ok, skipped, warning } from '../finding.ts'
import { type FlushTimes, measureFlush } from '../machine/measure-flush.ts'
import { nearestFolder } from '../machine/nearest-folder.ts'

// The quickest memory that outlives a power cut takes this long with all the layers above it. What is quicker has not
// been to a disk.
const LEAST_BELIEVABLE_MS = 0.03
// A commit of one caller waits for one of these.
const SLOW_MS = 30

export async function checkFlush({ dataDir, settings }: Examination): Promise<CheckResult> {
  if (dataDir === null) return skipped('NUNCIO_DATA_DIR is wrong, so there is no disk to measure.')
  // With PostgreSQL what counts is the disk of its server, which cannot be measured from here.
  if (settings?.database.engine === 'postgres')
    return skipped('The database is PostgreSQL: how its disk flushes can be measured there only, with pg_test_fsync.')
  return assessFlush(measureFlush(nearestFolder(dataDir)))
}

/** Pure. */
export function assessFlush({ medianMs, slowestMs }: FlushTimes): CheckResult {
  const facts = { medianMs: rounded(medianMs), slowestMs: rounded(slowestMs) }
  const times = `${facts.medianMs} ms, the slowest ${facts.slowestMs} ms`
  if (medianMs < LEAST_BELIEVABLE_MS)
    return warning(
      `A flush to the disk took ${times}: so quick that it hardly reached one.`,
      'Find out whether the disk, or what lies below this machine, keeps what it says it has written when the power goes: its write cache, or the cache mode of the virtual machine. In memory nothing is kept.',
      facts,
    )
  if (medianMs > SLOW_MS)
    return warning(
      `A flush to the disk took ${times}: each acceptance and each step of a lane waits for one.`,
      'Put the data folder on a quicker disk, or find out what else keeps this one busy.',
      facts,
    )
  return ok(`A flush to the disk takes ${times}.`, facts)
}

function rounded(ms: number): number {
  return Number(ms.toPrecision(2))
}
