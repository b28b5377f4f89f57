import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { inAccount, instant } from './shapes.ts'

/** How a message stands after a person acted on it. */
const changedMessage = z.object({
  id: z.string(),
  state: z.string(),
  connection: z.string(),
  acceptedAt: instant,
})

/** What a person may do to single messages: those of the account alone, an unknown one and a foreign one alike refused. */
export const messageRoutes = {
  /** Takes one out of its lane that waits and is not being handed over. */
  cancelMessage: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/messages/:id/cancel',
    access: 'developer',
    params: inAccount,
    reply: changedMessage,
  }),
  /** Makes a new message at the end of the lane, which is returned. For what FAILED, EXPIRED or was CANCELLED. */
  retryMessage: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/messages/:id/retry',
    access: 'developer',
    params: inAccount,
    reply: changedMessage,
  }),
  /** `arrived`: PUBLISHED, on a person's word. `send-again`: a new message, returned; the recipient may get it twice. */
  resolveMessage: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/messages/:id/resolve',
    access: 'developer',
    params: inAccount,
    body: z.object({ as: z.enum(['arrived', 'send-again']) }),
    reply: changedMessage,
  }),
} as const
