import { Application } from '../application.ts'
import { exitOnFatalError } from '../exit-on-fatal-error.ts'
import { serveAsChild } from './serve-as-child.ts'

/** One of several processes that serve one port. */
export function serveChild(): void {
  serveAsChild(
    (parts) =>
      new Application({ ...parts, makesFirst: false, onBroken: (error) => exitOnFatalError(parts.logger, error) }),
  )
}
