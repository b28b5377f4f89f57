import type { attentionRoutes, AttentionItem as Shown } from '../../../contract/console/attention.ts'
import { type AttentionItem, findAttention } from '../../../core/find-attention.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { ownerOf, toReply } from './alarm-handlers.ts'

export function attentionHandlers({ store }: Pick<ConsoleDeps, 'store'>): Handlers<typeof attentionRoutes> {
  return {
    async readAttention(_, context) {
      const wanted = { accountIds: [context.accountId], alarmsOf: ownerOf(context), now: context.now }
      return { items: (await findAttention(store, wanted)).map(present) }
    },
    async noteAttentionSeen({ body }, { accountId, actor }) {
      await store.overview.noteAttentionSeen(accountId, body, actor)
      return { done: true as const }
    },
  }
}

function present({
  alarm,
  messages,
  lane,
  webhook,
  nextStepByCommand: _,
  accountId: __,
  ...item
}: AttentionItem): Shown {
  const { seen } = item
  return {
    ...item,
    alarm: alarm && toReply(alarm),
    messages: messages && { ...messages, since: messages.from },
    connection: lane && { id: lane.connectionId, number: lane.number },
    webhook: webhook && { id: webhook.id },
    seen: seen && { by: seen.by, at: seen.at },
  }
}
