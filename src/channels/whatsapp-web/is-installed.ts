import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Whether npm has installed packages in this folder: it writes this list at the very end. */
export function isInstalled(folder: string): boolean {
  return existsSync(join(folder, 'node_modules/.package-lock.json'))
}
