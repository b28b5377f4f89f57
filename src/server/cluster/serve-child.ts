import { endForSupervisor } from '../exit-on-fatal-error.ts'
import { Nuncio } from '../application.ts'
import { serveAsChild } from './serve-as-child.ts'

/** One of several processes that serve one port. */
export function serveChild(): void {
  serveAsChild(
    (parts) => new Nuncio({ ...parts, makesFirst: false, onBroken: (error) => endForSupervisor(parts.logger, error) }),
  )
}
