import type { messageRoutes } from '../../../contract/console/messages.ts'
import type { MessageId } from '../../../core/ids.ts'
import type { MessageView } from '../../../core/ports/administration.ts'
import type { OfMessage } from '../../../core/ports/console/lanes.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'

export function messageHandlers({ store: { lanes } }: ConsoleDeps): Handlers<typeof messageRoutes> {
  return {
    cancelMessage: async ({ params }, visit) => told(await lanes.cancelMessage(own(params, visit), visit.actor)),
    retryMessage: async ({ params }, visit) => told(await lanes.retryMessage(own(params, visit), visit.actor)),
    resolveMessage: async ({ params, body }, visit) =>
      told(await lanes.resolveMessage(own(params, visit), body.as, visit.actor)),
  }
}

function own(params: { readonly id: string }, { accountId }: AccountRequest): OfMessage {
  return { accountId, id: params.id as MessageId }
}

function told({ id, state, connection, acceptedAt }: MessageView) {
  return { id, state, connection, acceptedAt }
}
