import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { instant, ofAccount, page } from './shapes.ts'

const auditEntry = z.object({
  id: z.string(),
  at: instant,
  actor: z.string(),
  action: z.string(),
  object: z.string(),
  /** Further facts, by name. Never anything secret. */
  detail: z.record(z.string(), z.unknown()).nullable(),
  remoteAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
})

export const auditRoutes = {
  listAudit: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/audit',
    access: 'owner',
    params: ofAccount,
    query: z.object({
      before: z
        .string()
        .regex(/^\d{1,15}$/, 'This is no place in the audit log.')
        .optional(),
    }),
    reply: page(auditEntry),
  }),
} as const
