import cluster from 'node:cluster'
import type { Logger } from 'pino'
import type { Settings } from '../../config/read-settings.ts'
import type { FirstStart } from '../first-run/first-start.ts'
import type { SetupLink } from '../first-run/setup-link.ts'
import { startupBanner } from '../first-run/startup-banner.ts'
import { waitForShutdown } from '../shutdown.ts'
import { systemClock } from '../system-clock.ts'
import { MetricsRelay } from './metrics-relay.ts'
import { ProcessGroup } from './process-group.ts'
import { startChild } from './start-child.ts'

/** Has several processes serve one port, until they get a signal to stop and have all ended. */
export async function serveInProcesses(settings: Settings, logger: Logger, program: string): Promise<void> {
  const makeFirst = async () => (settings.roles.includes('api') ? prepareFirst(settings) : null)
  // The program that was started, once more: it notices that it is a child.
  await runProcesses(settings, logger, { childFile: program, makeFirst })
}

interface ServedWith {
  /** The program of a child. */
  readonly childFile: string
  readonly makeFirst: () => Promise<FirstStart | null>
}

/** Tests have children of their own. */
export async function runProcesses(
  settings: Settings,
  logger: Logger,
  { childFile, makeFirst }: ServedWith,
): Promise<void> {
  cluster.setupPrimary({ exec: childFile, args: [] })
  const relay = new MetricsRelay(systemClock)
  const group = new ProcessGroup({
    count: settings.processes,
    startChild: (number, events) => startChild({ settings, number }, relay, events),
    clock: systemClock,
    logger,
  })
  const atOnce = () => void group.kill().then(() => process.exit(1))
  const stopped = waitForShutdown({ inOrder: () => group.stop(), atOnce }, logger)
  const url = await group.start()
  if (url !== null && !group.isStopping) {
    // By the parent, because all of its children find an empty database. Not before they serve: the token is printed once,
    // and a start that failed after it would have swallowed it.
    const first = await makeFirst().catch(async (error: unknown) => {
      await group.stop()
      throw error
    })
    process.stdout.write(startupBanner({ url, first, setupLink: await findSetupLink(settings, url, logger) }, settings))
  }
  await stopped
}

async function prepareFirst(settings: Settings): Promise<FirstStart | null> {
  const { prepareFirstStart } = await import('../first-run/first-start.ts')
  return prepareFirstStart(settings, systemClock.now())
}

/** By the parent, because each of its children would make a link of its own. */
async function findSetupLink(settings: Settings, url: string, logger: Logger): Promise<SetupLink | null> {
  if (!settings.roles.includes('console')) return null
  const { printSetupLink, warnOfSetupLink } = await import('../first-run/setup-link.ts')
  const onError = (error: unknown) => warnOfSetupLink(logger, error)
  try {
    const { openAdministration } = await import('../wiring/open-administration.ts')
    const { people, close } = await openAdministration(settings, { create: false })
    const { dataDir, quietFirstStart: isQuiet } = settings
    const link = await printSetupLink(people, { dataDir, url, isQuiet, onError })
    await close()
    return link
  } catch (error) {
    onError(error)
    return null
  }
}
