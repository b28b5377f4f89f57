import { realpathSync } from 'node:fs'
import { dirname } from 'node:path'

/** The folder itself, or the nearest one above it that is there: what is made later will lie on its disk. */
export function nearestFolder(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : nearestFolder(above)
  }
}
