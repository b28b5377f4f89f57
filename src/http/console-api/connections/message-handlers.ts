import type { messageRoutes } from '../../../contract/console/messages.ts'
import type { MessageId } from '../../../core/ids.ts'
import type { MessageView } from '../../../core/ports/administration.ts'
import type { OfMessage } from '../../../core/ports/console/lanes.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'

export function messageHandlers({ store: { lanes } }: ConsoleDeps): Handlers<typeof messageRoutes> {
  return {
    cancelMessage: async ({ params }, context) =>
      presentMessage(await lanes.cancelMessage(own(params, context), context.actor)),
    retryMessage: async ({ params }, context) =>
      presentMessage(await lanes.retryMessage(own(params, context), context.actor)),
    resolveMessage: async ({ params, body }, context) =>
      presentMessage(await lanes.resolveMessage(own(params, context), body.as, context.actor)),
  }
}

function own(params: { readonly id: string }, { accountId }: AccountRequest): OfMessage {
  return { accountId, id: params.id as MessageId }
}

function presentMessage({ id, state, connection, acceptedAt }: MessageView) {
  return { id, state, connection, acceptedAt }
}
