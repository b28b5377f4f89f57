import { join } from 'node:path'
import type { Settings } from '../../config/read-settings.ts'

/** Where the packages of a channel are installed that Nuncio does not distribute. */
export function extraFolder({ dataDir }: Pick<Settings, 'dataDir'>, channel: string): string {
  return join(dataDir, 'extras', channel)
}
