import type { Instant } from '../ids.ts'
import { explainReason, isReasonCode, type ReasonCode, withCommand } from '../reasons.ts'
import { type RemedyOf, renderRemedy } from '../render-remedy.ts'
import type { NotificationKind } from './notification-kinds.ts'

/** A notification as storage keeps it. */
export interface StoredNotification {
  readonly kind: NotificationKind
  readonly at: Instant
  readonly data: Readonly<Record<string, unknown>>
}

/** What is posted: the form that Standard Webhooks gives. `from` is the number of the message's connection. */
export function composePayload({ kind, at, data }: StoredNotification, from: string | null): string {
  const published = kind.startsWith('message.') ? messageData(data, from) : data
  return JSON.stringify({ type: kind, timestamp: new Date(at).toISOString(), data: published })
}

/** The message that a payload is about; null: it is about none. */
export function messageOf(payload: string): { readonly id: string; readonly to: string } | null {
  const { data } = JSON.parse(payload) as { readonly data: Readonly<Record<string, unknown>> }
  const { messageId: id, to } = data
  return typeof id === 'string' && typeof to === 'string' ? { id, to } : null
}

function messageData(kept: Readonly<Record<string, unknown>>, from: string | null): Readonly<Record<string, unknown>> {
  const { messageId, connectionId, to, type, state, reason, words, attempts, acceptedAt, resendOf } = kept
  return {
    messageId,
    connectionId,
    from,
    to,
    type,
    attempts,
    acceptedAt: new Date(Number(acceptedAt)).toISOString(),
    resendOf,
    state,
    reason: explain(
      { reason, words, state },
      { number: from ?? 'NUMBER', recipient: String(to), messageId: String(messageId) },
    ),
  }
}

const WINDOW_CLOSED: ReasonCode = 'whatsapp_131047'
const BY_ITSELF = 'If a template is set for such messages, Nuncio sends it again by itself. Otherwise:'

function explain({ reason: code, words = null, state }: Readonly<Record<string, unknown>>, of: RemedyOf) {
  if (typeof code !== 'string') return null
  const said = typeof words === 'string' ? words : null
  if (!isReasonCode(code)) return { code, meaning: null, nextStep: null, words: said }
  const facts = { number: of.number === 'NUMBER' ? undefined : of.number, to: of.recipient }
  const explained = explainReason(code, { state: typeof state === 'string' ? state : null, words: said, facts })
  const nextStep = renderRemedy(withCommand(explained), of)
  // Not known yet: whether it is sent again is decided right after this is written.
  const isMaybeRepeated = code === WINDOW_CLOSED
  return {
    code,
    meaning: explained.cause,
    nextStep: isMaybeRepeated ? `${BY_ITSELF} ${nextStep}` : nextStep,
    words: said,
  }
}
