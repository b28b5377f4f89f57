import type { Logger } from 'pino'

interface Stoppable {
  /** Resolves once everything has ended. Harmless twice. */
  inOrder(): Promise<void>
  /** What is open then becomes unknown, as after a crash. */
  atOnce(): void
}

/**
 * The first signal ends the service in order, a second one at once. Resolves when it has ended in order; rejects after
 * that with an unhandled fault.
 */
export function waitForShutdown(service: Stoppable, logger: Logger): Promise<void> {
  return new Promise((resolve, reject) => {
    let signals = 0
    const onSignal = (signal: NodeJS.Signals) => {
      signals += 1
      if (signals > 1) return service.atOnce()
      logger.info({ signal }, 'stopping; a second signal forces it')
      service.inOrder().then(resolve, reject)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', onSignal)
    process.on('unhandledRejection', (thrown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      logger.fatal({ err: error }, 'unhandled fault; stopping')
      service.inOrder().then(() => reject(error), reject)
    })
  })
}
