import { z } from 'zod'
import { consoleRoute, RAW } from './route.ts'

export const streamRoutes = {
  /** Server-sent events without content: those of `stream-events.ts`. */
  watchAccount: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/stream',
    access: 'viewer',
    params: z.object({ account: z.string() }),
    reply: RAW,
  }),
} as const
