import type { IncomingMessage } from 'node:http'
import type { ConsoleDeps } from './console-deps.ts'

export const CONSOLE_API = '/console/api'

/** The settings and dependencies of the console that `src/server` passes in. */
export interface ConsoleSettings extends Omit<ConsoleDeps, 'clock' | 'log' | 'publicUrl' | 'isSecure'> {
  /** True when the operator trusts the network between browsers and this machine. */
  readonly mayUsePlainHttp: boolean
  /** The folder of the built pages. */
  readonly pagesFolder: string
  /** For tests: checks each JSON reply against its shape in the contract. */
  readonly checksReplies?: boolean
}

/** The same with the values that the HTTP server adds. */
export interface ConsoleParts extends Omit<ConsoleSettings, 'checksReplies'>, ConsoleDeps {
  readonly checksReplies: boolean
  /** The source address of a request; trusted proxies are taken into account. */
  readonly addressOf: (request: IncomingMessage) => string
  /** Aborted when the server is to stop. */
  readonly closing: AbortSignal
}
