import { join } from 'node:path'
import { assetPath } from '../../assets/asset-path.ts'
import { isInstalled } from '../../channels/whatsapp-web/is-installed.ts'
import type { Settings } from '../../config/read-settings.ts'

/** Where the packages of a channel are that Nuncio does not distribute: in the program, where an image was built with them. */
export function extraFolder(
  settings: Pick<Settings, 'dataDir'>,
  channel: string,
  programExtras = assetPath('extras'),
): string {
  const inProgram = join(programExtras, channel)
  return isInstalled(inProgram) ? inProgram : installFolder(settings, channel)
}

/** Where a command installs them. */
export function installFolder({ dataDir }: Pick<Settings, 'dataDir'>, channel: string): string {
  return join(dataDir, 'extras', channel)
}
