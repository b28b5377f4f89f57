import type { ConsoleRouteName, ConsoleRoutes } from '../../contract/console/routes.ts'
import { alarmHandlers } from './alarms/alarm-handlers.ts'
import { attentionHandlers } from './alarms/attention-handlers.ts'
import type { AnyRequestContext } from './authorize.ts'
import { connectionHandlers } from './connections/connection-handlers.ts'
import { messageHandlers } from './connections/message-handlers.ts'
import { phoneHandlers } from './connections/phone-handlers.ts'
import type { ConsoleParts } from './console-parts.ts'
import { logHandlers } from './log/log-handlers.ts'
import { overviewHandlers } from './overview/overview-handlers.ts'
import { peopleHandlers } from './people/people-handlers.ts'
import { recipientHandlers } from './recipients/recipient-handlers.ts'
import type { Handlers } from './request-context.ts'
import { sandboxHandlers } from './sandbox/sandbox-handlers.ts'
import { streamHandlers } from './stream/stream-handlers.ts'
import { tokensHandlers } from './tokens/tokens-handlers.ts'
import { webhookHandlers } from './webhooks/webhook-handlers.ts'

/** A handler whose input was parsed by its route's shapes, and whose context fits its route's access. */
export type AnyHandler = (input: unknown, context: AnyRequestContext) => Promise<unknown>

/** One for every route of the contract: a route without one does not compile. */
export function createHandlers(parts: ConsoleParts): Readonly<Record<ConsoleRouteName, AnyHandler>> {
  const handlers: Handlers<ConsoleRoutes> = {
    ...peopleHandlers(parts),
    ...tokensHandlers(parts),
    ...webhookHandlers(parts),
    ...logHandlers(parts),
    ...connectionHandlers(parts),
    ...phoneHandlers(parts),
    ...messageHandlers(parts),
    ...overviewHandlers(parts),
    ...alarmHandlers(parts),
    ...attentionHandlers(parts),
    ...recipientHandlers(parts),
    ...sandboxHandlers(parts),
    ...streamHandlers(parts),
  }
  // `authorize` makes the context that each route's access requires, so this cast is safe.
  return handlers as unknown as Readonly<Record<ConsoleRouteName, AnyHandler>>
}
