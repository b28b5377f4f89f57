import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'

/** Sent when something was committed, so the data on the screen may have changed. */
export const CHANGED = 'changed'
/** Sent when the session has ended: do not open the stream again before the next sign-in. */
export const SIGNED_OUT = 'signed-out'

export const streamRoutes = {
  /** Server-sent events without content: `changed`, at most once a second, and `signed-out`. */
  watchAccount: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/stream',
    access: 'viewer',
    params: z.object({ account: z.string() }),
    reply: RAW,
  }),
} as const
