import { z } from 'zod'
import { BLOCK_REASON } from './form-rules.ts'
import { oneLine } from './one-line-text.ts'
import { phoneNumber } from './phone-number.ts'
import { consoleRoute } from './route.ts'
import { done, instant, ofAccount, page } from './shapes.ts'

/** A blocked recipient, who asked for no more messages. */
const block = z.object({
  /** The id of the entry for `unblockRecipient`. */
  entry: z.string(),
  /** Null: the person was erased, and only a keyed hash of the number is kept. */
  number: z.string().nullable(),
  reason: z.string().nullable(),
  since: instant,
  blockedBy: z.string(),
})
export type BlockView = z.output<typeof block>

export const blockReason = oneLine(BLOCK_REASON)

export const recipientRoutes = {
  /** Ordered by number. `find`: the first digits of a number. `total`: how many are blocked in all. */
  listBlocks: consoleRoute({
    method: 'GET',
    path: '/accounts/:account/recipients/blocked',
    access: 'developer',
    params: ofAccount,
    query: z.object({ after: z.string().max(64).optional(), find: z.string().max(15).optional() }),
    reply: page(block).extend({ total: z.int() }),
  }),
  /** New messages to it are accepted and fail with `recipient_blocked`. `isNew` false: it was blocked already. */
  blockRecipient: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/recipients/block',
    access: 'developer',
    params: ofAccount,
    body: z.object({ number: phoneNumber, reason: blockReason.default('') }),
    reply: z.object({ isNew: z.boolean() }),
  }),
  unblockRecipient: consoleRoute({
    method: 'POST',
    path: '/accounts/:account/recipients/unblock',
    access: 'developer',
    params: ofAccount,
    body: z.object({ entry: z.string().max(64) }),
    reply: done,
  }),
} as const
