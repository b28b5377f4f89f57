import type { sandboxRoutes } from '../../../contract/console/sandbox.ts'
import type { ConnectionId, MessageId } from '../../../core/ids.ts'
import type { OwnConnection } from '../../../core/ports/console/inbox.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import { OpenReplies } from '../open-replies.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { sendCopy } from './send-copy.ts'

const CHATS_PER_PAGE = 50
const DELIVERIES_PER_PAGE = 50
// Some 50 ms of writing, in which accepting waits.
const CLEARED_AT_ONCE = 1_000

export function sandboxHandlers({ store, sandbox }: ConsoleDeps): Handlers<typeof sandboxRoutes> {
  const previews = new OpenReplies('preview')
  return {
    async listSandboxes(_, context) {
      const connections = await store.inbox.listSandboxes(context.accountId)
      return { connections: [...connections], commands: [...sandbox.commands] }
    },
    async listChats({ params, query }, context) {
      const wanted = { ...from(query), limit: CHATS_PER_PAGE, find: query.find || null }
      const page = await store.inbox.listChats(own(params, context), wanted)
      if (!page) throw unknownConnection()
      return { ...page, items: [...page.items], next: cursor(page.next) }
    },
    async readConversation({ params, query }, context) {
      const wanted = { ...from(query), limit: DELIVERIES_PER_PAGE }
      const page = await store.inbox.readConversation(own(params, context), params.to, wanted)
      if (!page) throw unknownConnection()
      return { items: [...page.items], next: cursor(page.next) }
    },
    async markChatRead({ params }, context) {
      const of = own(params, context)
      const unread = await store.inbox.readUnread(of, params.to, context.actor)
      if (!unread) throw unknownConnection()
      for (const { messageId, attempt } of unread)
        await sandbox.markRead({ connectionId: of.connectionId, messageId, attemptNumber: attempt })
      return { count: unread.length }
    },
    async clearInbox({ params }, context) {
      let count = 0
      const failures: Error[] = []
      for (let before: number | null | undefined; before !== null; ) {
        const page = { before: before ?? null, limit: CLEARED_AT_ONCE }
        const cleared = await store.inbox.clear(own(params, context), page, context.actor)
        if (!cleared) throw unknownConnection()
        // Nothing finds the other copies again, so one that cannot be removed does not keep them.
        for (const messageId of cleared.copies)
          await sandbox.removeCopy(messageId).catch((error: unknown) => {
            failures.push(new Error('A copy of a file could not be removed', { cause: error }))
          })
        count += cleared.count
        before = cleared.next
      }
      if (failures[0]) throw failures[0]
      return { count }
    },
    async explainDelivery({ params }, context) {
      const timeline = await store.inbox.explainDelivery(own(params, context), params.key)
      if (!timeline) throw new Refusal('delivery_unknown')
      return timeline
    },
    async readSandboxMedia({ params }, context): Promise<never> {
      const messageId = params.message as MessageId
      // The account is checked before the disk is read: an id of another account counts as unknown.
      const media = await store.inbox.findMedia(own(params, context), messageId)
      if (!media) throw new Refusal('delivery_unknown')
      const release = previews.open(context)
      try {
        const copy = await sandbox.openCopy(messageId)
        if (!copy) throw new Refusal('copy_gone')
        await sendCopy(copy, { name: media.name, onEnd: release }, context)
      } catch (error) {
        release()
        throw error
      }
      // The reply is the file itself.
      return undefined as never
    },
  }
}

function own(params: { readonly connection: string }, { accountId }: AccountRequest): OwnConnection {
  return { accountId, connectionId: params.connection as ConnectionId }
}

function from({ before }: { readonly before?: string | undefined }): { readonly before: number | null } {
  return { before: before === undefined ? null : Number(before) }
}

function cursor(next: number | null): string | null {
  return next === null ? null : String(next)
}

function unknownConnection(): Refusal {
  return new Refusal('connection_unknown', 'There is no such sandbox connection in this account.')
}
