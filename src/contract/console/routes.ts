import { alarmRoutes } from './alarms.ts'
import { attentionRoutes } from './attention.ts'
import { auditRoutes } from './audit.ts'
import { connectionRoutes } from './connections.ts'
import { logRoutes } from './log.ts'
import { messageRoutes } from './messages.ts'
import { overviewRoutes } from './overview.ts'
import { peopleRoutes } from './people.ts'
import { phoneRoutes } from './phone.ts'
import { recipientRoutes } from './recipients.ts'
import type { ConsoleRoute } from './route.ts'
import { sandboxRoutes } from './sandbox.ts'
import { sessionRoutes } from './session.ts'
import { streamRoutes } from './stream.ts'
import { tokenRoutes } from './tokens.ts'
import { webhookRoutes } from './webhooks.ts'

/** All routes of the console's private API, by name. */
export const CONSOLE_ROUTES = {
  ...sessionRoutes,
  ...peopleRoutes,
  ...auditRoutes,
  ...tokenRoutes,
  ...webhookRoutes,
  ...logRoutes,
  ...connectionRoutes,
  ...phoneRoutes,
  ...messageRoutes,
  ...overviewRoutes,
  ...alarmRoutes,
  ...attentionRoutes,
  ...recipientRoutes,
  ...sandboxRoutes,
  ...streamRoutes,
} as const satisfies Readonly<Record<string, ConsoleRoute>>

export type ConsoleRoutes = typeof CONSOLE_ROUTES
export type ConsoleRouteName = keyof ConsoleRoutes
