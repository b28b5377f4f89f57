import { type Logger, pino } from 'pino'
import type { Settings } from '../config/read-settings.ts'
import { firstCurl } from './first-curl.ts'
import { Nuncio, type Started } from './nuncio.ts'

/** Runs the service until it is told to stop. Resolves once everything has ended in order. */
export async function serve(settings: Settings): Promise<void> {
  const logger = pino({ level: settings.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime })
  const nuncio = new Nuncio({ settings, logger, onBroken: (error) => endForSupervisor(logger, error) })
  const stopped = stopOnSignals(nuncio, logger)
  try {
    process.stdout.write(greeting(await nuncio.start(), settings))
  } catch (error) {
    await nuncio.stop()
    throw error
  }
  await stopped
}

/**
 * The first signal ends the service in order, a second one at once. What is open then becomes unknown, as after a
 * crash.
 */
function stopOnSignals(nuncio: Nuncio, logger: Logger): Promise<void> {
  return new Promise((resolve, reject) => {
    let signals = 0
    const onSignal = (signal: NodeJS.Signals) => {
      signals += 1
      if (signals > 1) process.exit(1)
      logger.info({ signal }, 'stopping; a second signal forces it')
      nuncio.stop().then(resolve, reject)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', onSignal)
    process.on('unhandledRejection', (error) => {
      logger.fatal({ err: error }, 'a fault that nobody handled; stopping')
      process.exitCode = 1
      nuncio.stop().then(resolve, reject)
    })
  })
}

/** The disk can no longer be trusted, so nothing more is said with a 200. A fresh process finds out what is on it. */
function endForSupervisor(logger: Logger, error: unknown): void {
  const cause = error instanceof Error ? error.message : String(error)
  logger.fatal({ cause }, 'the database can no longer be used; ending, so that a supervisor starts a fresh process')
  // The replies that say 503 are written first.
  setTimeout(() => process.exit(1), 100)
}

function greeting({ url, first }: Started, settings: Settings): string {
  const lines = [
    `Nuncio serves on ${url}`,
    `  data      ${settings.dataDir}`,
    `  storage   SQLite, ${settings.database.path}`,
    '  commands  npm run -s nuncio -- --help',
  ]
  if (first)
    lines.push(
      '',
      'This is the first start: an account, a sandbox number and a token were made. Send the first message:',
      '',
      firstCurl(first, url),
      '',
    )
  return `${lines.join('\n')}\n`
}
