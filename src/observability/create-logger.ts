import { type DestinationStream, type Logger, pino } from 'pino'
import type { Settings } from '../config/read-settings.ts'
import { describeError } from './describe-error.ts'

interface LoggerOptions {
  /** Distinguishes several processes on one machine; a single one leaves it out. */
  readonly process?: number | null
  /** Instead of stdout; for tests. */
  readonly destination?: DestinationStream
}

export function createLogger(
  { logLevel }: Pick<Settings, 'logLevel'>,
  { process = null, destination }: LoggerOptions = {},
): Logger {
  const options = {
    level: logLevel,
    base: process === null ? null : { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  }
  return destination ? pino(options, destination) : pino(options)
}
