import type { recipientRoutes } from '../../../contract/console/recipients.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'

const PAGE = 50

export function recipientHandlers({
  store: { blockLists },
}: Pick<ConsoleDeps, 'store'>): Handlers<typeof recipientRoutes> {
  return {
    async listBlocks({ query }, { accountId }) {
      const wanted = { find: query.find || null, after: query.after ?? null, limit: PAGE }
      const [page, total] = await Promise.all([
        blockLists.listBlocks(accountId, wanted),
        blockLists.countBlocks(accountId),
      ])
      const items = page.items.map(({ recipient, ...block }) => ({ ...block, number: recipient }))
      return { items, next: page.next, total }
    },
    async blockRecipient({ body: { number, reason } }, { accountId, actor }) {
      const wanted = { numbers: [number], reason: reason === '' ? null : reason }
      const { blocked } = await blockLists.block(accountId, wanted, actor)
      return { isNew: blocked > 0 }
    },
    async unblockRecipient({ body: { entry } }, { accountId, actor }) {
      await blockLists.unblock(accountId, [entry], actor)
      return { done: true }
    },
  }
}
