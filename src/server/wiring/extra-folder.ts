import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assetPath } from '../../assets/asset-path.ts'
import type { Settings } from '../../config/read-settings.ts'

/** npm writes this list at the very end, of what it has installed. */
export const INSTALLED_LOCK = join('node_modules', '.package-lock.json')

/** Where the packages of a channel are that Nuncio does not distribute: in the program, where an image was built with them. */
export function extraFolder(
  settings: Pick<Settings, 'dataDir'>,
  channel: string,
  programExtras = assetPath('extras'),
): string {
  const inProgram = join(programExtras, channel)
  return existsSync(join(inProgram, INSTALLED_LOCK)) ? inProgram : installFolder(settings, channel)
}

/** Where a command installs them. */
export function installFolder({ dataDir }: Pick<Settings, 'dataDir'>, channel: string): string {
  return join(dataDir, 'extras', channel)
}
