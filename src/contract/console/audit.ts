import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'
import { done, instant, ofAccount, page } from './shapes.ts'

const auditEntry = z.object({
  id: z.string(),
  at: instant,
  actor: z.string(),
  action: z.string(),
  object: z.string(),
  /** The number of a connection or the name of a token. */
  objectName: z.string().nullable(),
  /** Further facts, by name. Never anything secret. */
  detail: z.record(z.string(), z.unknown()).nullable(),
  remoteAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
})

/** What actions are about: the first words of their names. */
export const AUDIT_KINDS = {
  'sign-in': ['sign-in', 'sign-out', 'step-up', 'session'],
  people: ['person', 'member', 'link', 'invitation', 'password', 'second-factor', 'passkey', 'recovery-codes'],
  account: ['account', 'retention', 'log', 'audit'],
  tokens: ['token'],
  connections: ['connection', 'hold'],
  messages: ['message', 'sandbox'],
  recipients: ['recipient'],
  webhooks: ['webhook'],
} as const satisfies Readonly<Record<string, readonly string[]>>
export type AuditKind = keyof typeof AUDIT_KINDS

const auditFilter = z.object({
  /** As entries name the person: an e-mail, or `cli`. */
  actor: z.string().max(320).optional(),
  kind: z.enum(Object.keys(AUDIT_KINDS) as [AuditKind, ...AuditKind[]]).optional(),
})
export type AuditFilter = z.output<typeof auditFilter>

export const auditRoutes = {
  listAudit: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/audit',
    access: 'owner',
    params: ofAccount,
    query: auditFilter.extend({
      before: z
        .string()
        .regex(/^\d{1,15}$/, 'This is no place in the audit log.')
        .optional(),
    }),
    reply: page(auditEntry),
  }),
  /** Refused as the export would be, which browsers would save as a file. */
  checkAuditExport: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/audit-export/check',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    reply: done,
  }),
  /** A CSV file with all entries that match the filter. Each export is written to the audit log. */
  exportAudit: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/audit-export',
    access: 'owner',
    stepUp: true,
    params: ofAccount,
    query: auditFilter,
    reply: RAW,
  }),
} as const
