import { z } from 'zod'
import { alarm } from './alarms.ts'
import { consoleRoute } from './route.ts'
import { done, instant, ofAccount } from './shapes.ts'
import { maskedText, plain } from './viewer-text.ts'

/** One thing that waits for a person. One of `alarm`, `messages`, `connection` and `webhook` is set: what it is about. */
const attentionItem = z.object({
  /** Stays the same as long as it is about the same thing. */
  key: plain,
  /** What it is and how many, in one sentence. */
  title: maskedText,
  nextStep: plain,
  alarm: alarm.nullable(),
  /** Messages that ended badly for the same reason, and that are still open. */
  messages: z
    .object({
      state: z.enum(['FAILED', 'EXPIRED']),
      reason: plain.nullable(),
      count: z.int(),
      /** How far back they are counted. */
      since: instant,
    })
    .nullable(),
  connection: z.object({ id: plain, number: plain }).nullable(),
  webhook: z.object({ id: plain }).nullable(),
  /** When it came, or the newest of its messages. */
  latestAt: instant,
  /** False: it stays until it is dealt with. */
  maySee: z.boolean(),
  /** Who has seen it since then; null: not seen. */
  seen: z.object({ by: plain, at: instant }).nullable(),
})
export type AttentionItem = z.output<typeof attentionItem>

export const attentionRoutes = {
  /** What waits for a person, the most urgent first. What was seen is at the end. */
  readAttention: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/attention',
    access: 'viewer',
    params: ofAccount,
    reply: z.object({ items: z.array(attentionItem) }),
  }),
  /** Hides it for everybody in the account until there is something newer. */
  noteAttentionSeen: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/attention/seen',
    access: 'developer',
    params: ofAccount,
    body: z.object({ key: z.string().min(1).max(200), until: z.int().nonnegative() }),
    reply: done,
  }),
} as const
