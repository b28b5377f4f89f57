import type { Logger } from 'pino'
import type { Settings } from '../config/read-settings.ts'
import { endForSupervisor } from './exit-on-fatal-error.ts'
import { giveBackMemory } from './give-back-memory.ts'
import { greeting } from './first-run/startup-banner.ts'
import { Nuncio } from './application.ts'
import { filesOfDatabase, makeFilesPrivate } from './private-files.ts'
import { untilStopped } from './shutdown.ts'

/** Serves in this process, until it is told to stop and has ended in order. */
export async function serveAlone(settings: Settings, logger: Logger): Promise<void> {
  const nuncio = new Nuncio({ settings, logger, onBroken: (error) => endForSupervisor(logger, error) })
  const stopped = untilStopped({ inOrder: () => nuncio.stop(), atOnce: () => process.exit(1) }, logger)
  try {
    const started = await nuncio.start()
    await makeFilesPrivate(filesOfDatabase(settings), logger)
    const setUp = await nuncio.offerSetUp()
    // One that was told to stop meanwhile says nothing, but a token is shown only this once.
    if (!nuncio.isStopping || started.first) process.stdout.write(greeting({ ...started, setUp }, settings))
    giveBackMemory()
  } catch (error) {
    await nuncio.stop()
    throw error
  }
  await stopped
}
