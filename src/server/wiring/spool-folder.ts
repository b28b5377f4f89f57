import { join } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'

/** Where fetched media waits: one folder for all processes that share a data folder. */
export function spoolFolder({ dataDir }: Settings): string {
  return join(dataDir, 'spool')
}
