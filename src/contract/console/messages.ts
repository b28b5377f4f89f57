import { z } from 'zod'
import { consoleRoute } from './route.ts'
import { inAccount, instant } from './shapes.ts'

/** The state of a message after a person's action. */
const changedMessage = z.object({
  id: z.string(),
  state: z.string(),
  connection: z.string(),
  acceptedAt: instant,
})

/** Actions on single messages of the account. Unknown messages and those of other accounts are refused alike. */
export const messageRoutes = {
  /** Removes a waiting message from its lane, unless it is being sent. */
  cancelMessage: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/messages/:id/cancel',
    access: 'developer',
    params: inAccount,
    reply: changedMessage,
  }),
  /**
   * Makes a new message at the end of the lane, and returns it. For FAILED, EXPIRED and CANCELLED messages. One that waits for its
   * next try is tried at once instead, and returned.
   */
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
