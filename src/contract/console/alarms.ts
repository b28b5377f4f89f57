import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { instant, ofAccount, page } from './shapes.ts'
import { plain } from './viewer-text.ts'

export const alarm = z.object({
  id: plain,
  /** One of docs/alarms.md. */
  kind: plain,
  severity: z.enum(['critical', 'warning', 'info']),
  /** The kind, id and name of the object that the alarm is about. */
  of: z.enum(['connection', 'token', 'account', 'installation']),
  object: plain,
  name: plain,
  since: instant,
  raisedAt: instant,
  /** Null while the alarm is open. */
  clearedAt: instant.nullable(),
  cause: plain,
  nextStep: plain,
})
export type AlarmReply = z.output<typeof alarm>

/** Owners also see the alarms of the installation if their account is the only one in it. */
export const alarmRoutes = {
  /** Open alarms, the most severe first. */
  readOpenAlarms: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/alarms/open',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ items: z.array(alarm) }),
  }),
  /** Open ones and those cleared in the last 90 days, newest first. */
  listAlarms: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/alarms',
    access: 'viewer',
    params: ofAccount,
    query: z.object({
      before: z
        .string()
        .regex(/^\d{1,15}$/, 'This is no place in the list of alarms.')
        .optional(),
    }),
    reply: page(alarm),
  }),
} as const
