import { nameActor } from '../name-actor.ts'
import type { MessageTimeline } from '../ports/administration.ts'
import { explainReason } from '../reasons.ts'
import { ERASED } from './erased.ts'
import type { MessageState } from './message.ts'
import { CHANNEL_ACTOR } from './timeline.ts'

/** What replaces the next step of a message's reason, which knows nothing of what was done since. */
interface DealtWith {
  /** What was done; null where only something stands in the way. */
  readonly done: string | null
  readonly nextStep: string
}

const BECAME: Readonly<Record<MessageState, string>> = {
  QUEUED: 'waits to be sent',
  SENDING: 'is being sent',
  PUBLISHED: 'was sent',
  DELIVERED: 'was delivered',
  READ: 'was read',
  FAILED: 'failed',
  UNCONFIRMED: 'is unconfirmed',
  EXPIRED: 'expired',
  CANCELLED: 'was cancelled',
}
const NOT_SENT: ReadonlySet<MessageState> = new Set(['FAILED', 'EXPIRED', 'CANCELLED'])

/** Null where the next step of the reason still holds. To follow that of a message that was sent again would double it. */
export function explainDealtWith(timeline: MessageTimeline): DealtWith | null {
  const { message, resent, connectionState, hasSuccessor, bodyDeletedAt } = timeline
  if (resent) return explainResent(message.state, resent)
  if (!NOT_SENT.has(message.state)) return null
  if (message.to === ERASED) return waysBarred('It cannot be sent again: its recipient was erased.')
  if (bodyDeletedAt !== null)
    return waysBarred('It cannot be sent again: its content was deleted. Send a new message if it is still wanted.')
  if (connectionState === 'removed' && !hasSuccessor)
    return waysBarred(`Its number ${message.connection} was removed. Add it again; then the message can be retried.`)
  return message.reason === 'connection_removed' ? waysBarred('Retry it if it is still wanted.') : null
}

function explainResent(
  was: MessageState,
  { state, reason, words, by }: NonNullable<MessageTimeline['resent']>,
): DealtWith {
  const who = by === null ? 'A person' : nameActor(by).replace(/^the /, 'The ')
  const how = by === CHANNEL_ACTOR ? ' as a template' : ''
  const done = `${who} sent it again${how}. That message ${BECAME[state]}.`
  if (state === 'FAILED' && reason !== null) {
    const { sentence, nextStep } = explainReason(reason, state, words)
    return { done: `${done} ${sentence}`, nextStep: `See that message. ${nextStep}` }
  }
  const twice = was === 'UNCONFIRMED' ? ' The recipient may get it twice.' : ''
  return { done, nextStep: `You need not do anything here.${twice}` }
}

function waysBarred(nextStep: string): DealtWith {
  return { done: null, nextStep }
}
