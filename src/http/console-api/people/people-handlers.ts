import type { auditRoutes } from '../../../contract/console/audit.ts'
import type { peopleRoutes } from '../../../contract/console/people.ts'
import type { sessionRoutes } from '../../../contract/console/session.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { auditHandlers } from './audit-handlers.ts'
import { linkHandlers } from './link-handlers.ts'
import { memberHandlers } from './member-handlers.ts'
import { ownHandlers } from './own-handlers.ts'
import { PasswordHasher } from './password-hasher.ts'
import { sessionHandlers } from './session-handlers.ts'

type Routes = typeof sessionRoutes & typeof peopleRoutes & typeof auditRoutes

/** Signing in, people, and the audit log. */
export function peopleHandlers(deps: ConsoleDeps, hasher = new PasswordHasher()): Handlers<Routes> {
  const parts = { ...deps, hasher }
  return {
    ...sessionHandlers(parts),
    ...linkHandlers(parts),
    ...ownHandlers(parts),
    ...memberHandlers(parts),
    ...auditHandlers(deps),
  }
}
