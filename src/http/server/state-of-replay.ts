import type { SuccessState } from '../../contract/replies.ts'
import type { MessageState } from '../../core/message/message.ts'

/** A repeat may say that the message has left. Everything else reads as it did the first time. */
export function stateOfReplay(state: MessageState): SuccessState {
  return state === 'PUBLISHED' || state === 'DELIVERED' || state === 'READ' ? 'PUBLISHED' : 'QUEUED'
}
