import { type Logger, pino } from 'pino'
import type { Settings } from '../config/read-settings.ts'

/** `process` tells several processes on one machine apart; one alone leaves it out. */
export function createLogger({ logLevel }: Settings, process: number | null = null): Logger {
  const base = process === null ? null : { process }
  return pino({ level: logLevel, base, timestamp: pino.stdTimeFunctions.isoTime })
}
