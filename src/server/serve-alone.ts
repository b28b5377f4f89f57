import type { Logger } from 'pino'
import type { Settings } from '../config/read-settings.ts'
import { Application } from './application.ts'
import { exitOnFatalError } from './exit-on-fatal-error.ts'
import { startupBanner } from './first-run/startup-banner.ts'
import { filesOfDatabase, makeFilesPrivate } from './private-files.ts'
import { giveBackMemory } from './runtime-tuning.ts'
import { waitForShutdown } from './shutdown.ts'

/** Serves in this process until a signal stops it. Resolves when it has ended in order. */
export async function serveAlone(settings: Settings, logger: Logger): Promise<void> {
  const nuncio = new Application({ settings, logger, onBroken: (error) => exitOnFatalError(logger, error) })
  const stopped = waitForShutdown({ inOrder: () => nuncio.stop(), atOnce: () => process.exit(1) }, logger)
  try {
    const started = await nuncio.start()
    await makeFilesPrivate(filesOfDatabase(settings), logger)
    const setupLink = await nuncio.printSetupLink()
    // A process that is already stopping prints nothing, except for a token, which is shown only this once.
    if (!nuncio.isStopping || started.first) process.stdout.write(startupBanner({ ...started, setupLink }, settings))
    giveBackMemory()
  } catch (error) {
    await nuncio.stop()
    throw error
  }
  await stopped
}
