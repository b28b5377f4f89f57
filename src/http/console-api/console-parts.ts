import type { IncomingMessage } from 'node:http'
import type { ConsoleDeps } from './console-deps.ts'

export const CONSOLE_API = '/console/api'

/** What `app` hands over to serve the console with. */
export interface ConsoleSettings extends Omit<ConsoleDeps, 'clock' | 'log' | 'publicUrl' | 'isSecure'> {
  /** The operator trusts the network between browsers and this machine. */
  readonly mayUsePlainHttp: boolean
  /** The folder of the built pages. */
  readonly pagesFolder: string
  /** For tests: each JSON reply must have the shape that the contract promises. */
  readonly checksReplies?: boolean
}

/** The same with what the server knows besides. */
export interface ConsoleParts extends Omit<ConsoleSettings, 'checksReplies'>, ConsoleDeps {
  readonly checksReplies: boolean
  /** Where a request comes from, as far as trusted proxies say. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Aborted when the server is to stop. */
  readonly closing: AbortSignal
}
