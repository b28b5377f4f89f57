import type { Settings } from '../config/read-settings.ts'
import { createLogger } from '../observability/create-logger.ts'
import { filesBesideDatabase, makeFilesPrivate } from './private-files.ts'

/**
 * Runs the service until it gets a signal to stop. Resolves once everything has ended in order. The parent of several
 * processes serves nothing itself, so it loads nothing of what they need: `program` is what they run.
 */
export async function serve(settings: Settings, program: string): Promise<void> {
  const logger = createLogger(settings)
  await makeFilesPrivate(await filesBesideDatabase(settings), logger)
  if (settings.processes > 1) {
    const { serveInProcesses } = await import('./cluster/serve-in-processes.ts')
    await serveInProcesses(settings, logger, program)
  } else {
    const { serveAlone } = await import('./serve-alone.ts')
    await serveAlone(settings, logger)
  }
}
