import { type SuccessState, successBody } from '../../contract/replies.ts'
import type { MessageId } from '../../core/ids.ts'
import { JSON_TYPE, type RequestContext } from '../server/request-context.ts'

const BODIES: Record<SuccessState, string> = {
  QUEUED: JSON.stringify(successBody('QUEUED')),
  PUBLISHED: JSON.stringify(successBody('PUBLISHED')),
}
const LENGTHS: Record<SuccessState, string> = {
  QUEUED: String(BODIES.QUEUED.length),
  PUBLISHED: String(BODIES.PUBLISHED.length),
}

interface Success {
  readonly messageId: MessageId
  readonly state: SuccessState
}

export function replySuccess(
  context: RequestContext,
  outcome: 'accepted' | 'replayed',
  { messageId, state }: Success,
): void {
  const head = ['content-type', JSON_TYPE, 'content-length', LENGTHS[state], 'x-message-id', messageId]
  context.reply(200, head, BODIES[state])
  context.count(200, outcome)
}
