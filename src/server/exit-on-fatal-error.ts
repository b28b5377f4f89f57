import type { Logger } from 'pino'

/** The disk can no longer be trusted, so no more requests are answered with 200. A new process finds out what is on it. */
export function exitOnFatalError(logger: Logger, error: unknown): void {
  logger.fatal(
    { err: error },
    'the database can no longer be used; ending, so that a supervisor starts a fresh process',
  )
  // The replies that say 503 are written first.
  setTimeout(() => process.exit(1), 100)
}
