import type { auditRoutes } from '../../../contract/console/audit.ts'
import type { peopleRoutes } from '../../../contract/console/people.ts'
import type { sessionRoutes } from '../../../contract/console/session.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { linkHandlers } from './link-handlers.ts'
import { memberHandlers } from './member-handlers.ts'
import { ownHandlers } from './own-handlers.ts'
import { PasswordHasher } from './password-hasher.ts'
import { sessionHandlers } from './session-handlers.ts'

const AUDIT_PAGE = 50

type Routes = typeof sessionRoutes & typeof peopleRoutes & typeof auditRoutes

/** Signing in, people, and the audit log. */
export function peopleHandlers(deps: ConsoleDeps, hasher = new PasswordHasher()): Handlers<Routes> {
  const parts = { ...deps, hasher }
  return {
    ...sessionHandlers(parts),
    ...linkHandlers(parts),
    ...ownHandlers(parts),
    ...memberHandlers(parts),
    async listAudit({ query: { before } }, { accountId }) {
      const limit = AUDIT_PAGE + 1
      const found = await deps.store.audit.list({ accountId, before: before ? Number(before) : null, limit })
      const entries = found.slice(0, AUDIT_PAGE)
      const items = entries.map(({ sequence, ...entry }) => ({
        ...entry,
        id: String(sequence),
        detail: entry.detail && { ...entry.detail },
      }))
      return { items, next: found.length > AUDIT_PAGE ? String(entries.at(-1)?.sequence) : null }
    },
  }
}
