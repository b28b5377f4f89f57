import { ERASED } from '../message/erased.ts'
import type { ResendFacts } from '../message/resend-facts.ts'
import type { MessageTimeline } from '../ports/administration.ts'
import type { Place } from './texts.ts'

interface Message {
  readonly to: string
  /** The number of its connection. */
  readonly connection: string
}

interface NoResend {
  /** Why not, and what can be done instead. */
  readonly nextStep: string
  readonly opens: Place | null
}

const IF_IT_ARRIVED = 'If you know that it arrived, choose “It arrived”.'

export function resendFactsOf({ connectionState, hasSuccessor, bodyDeletedAt, block }: MessageTimeline): ResendFacts {
  return { hasConnection: connectionState !== 'removed' || hasSuccessor, bodyDeletedAt, isBlocked: block !== null }
}

/** Why a message that may have arrived cannot be sent again, and what to do instead. Null: it can be sent again. */
export function explainNoResend({ to, connection }: Message, facts: ResendFacts): NoResend | null {
  const { hasConnection, bodyDeletedAt, isBlocked } = facts
  if (to === ERASED || bodyDeletedAt !== null)
    return { nextStep: `It cannot be sent again. ${IF_IT_ARRIVED}`, opens: null }
  if (!hasConnection)
    return {
      nextStep: `It cannot be sent again: ${connection} was removed. ${IF_IT_ARRIVED} Else send a new message from another number, or add ${connection} again.`,
      opens: 'connections',
    }
  if (isBlocked)
    return {
      nextStep: `${to} is on the block list now. ${IF_IT_ARRIVED} Else unblock it before you send it again.`,
      opens: 'recipients',
    }
  return null
}
