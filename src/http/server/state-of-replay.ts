import type { SuccessState } from '../../contract/replies.ts'
import type { MessageState } from '../../core/message/message.ts'

/** A repeat may report that the message has been sent. Every other state is reported as at the first request. */
export function stateOfReplay(state: MessageState): SuccessState {
  return state === 'PUBLISHED' || state === 'DELIVERED' || state === 'READ' ? 'PUBLISHED' : 'QUEUED'
}
