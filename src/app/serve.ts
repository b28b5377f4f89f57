import type { Settings } from '../config/read-settings.ts'
import { createLogger } from './create-logger.ts'
import { filesBesideDatabase, makeFilesPrivate } from './private-files.ts'

/**
 * Runs the service until it is told to stop. Resolves once everything has ended in order. The parent of several
 * processes serves nothing itself, so it loads nothing of what they need.
 */
export async function serve(settings: Settings): Promise<void> {
  const logger = createLogger(settings)
  await makeFilesPrivate(await filesBesideDatabase(settings), logger)
  if (settings.processes > 1) {
    const { serveInProcesses } = await import('./processes/serve-in-processes.ts')
    await serveInProcesses(settings, logger)
  } else {
    const { serveAlone } = await import('./serve-alone.ts')
    await serveAlone(settings, logger)
  }
}
