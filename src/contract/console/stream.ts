import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'

/** Told on the stream when something was committed, so that what is on the screen may have changed. */
export const CHANGED = 'changed'
/** Told on the stream when the session has ended: it is not to be opened again before the next sign-in. */
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
