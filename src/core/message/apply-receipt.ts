import type { Receipt } from '../ports/channel.ts'
import type { MessageState } from './message.ts'

export interface ReceiptEffect {
  /** Null: the message stays as it is. */
  readonly to: MessageState | null
  /** A reason code for the message's new state; null keeps none. */
  readonly reason: string | null
  /** True when the report contradicts what is known: it is kept for people to see. */
  readonly contrary: boolean
}

const NOTHING: ReceiptEffect = { to: null, reason: null, contrary: false }
const CONTRARY: ReceiptEffect = { to: null, reason: null, contrary: true }

/** What a report of the network does to a message. A message only moves forward; no report is dropped. */
export function applyReceipt(state: MessageState, receipt: Pick<Receipt, 'kind' | 'code'>): ReceiptEffect {
  if (receipt.kind === 'failed') return afterFailure(state, receipt.code)
  const wanted = receipt.kind === 'read' ? 'READ' : 'DELIVERED'
  switch (state) {
    case 'PUBLISHED':
    case 'UNCONFIRMED':
      return { to: wanted, reason: null, contrary: false }
    case 'DELIVERED':
      return wanted === 'READ' ? { to: 'READ', reason: null, contrary: false } : NOTHING
    case 'READ':
      return NOTHING
    case 'FAILED':
      // Late evidence of delivery weighs more than an early report of failure, and people must see both.
      return { to: 'PUBLISHED', reason: 'evidence_found', contrary: true }
    case 'QUEUED':
    case 'SENDING':
    case 'EXPIRED':
    case 'CANCELLED':
      return CONTRARY
  }
}

function afterFailure(state: MessageState, code: string | null): ReceiptEffect {
  switch (state) {
    case 'PUBLISHED':
      return { to: 'FAILED', reason: code ?? 'refused_later', contrary: false }
    case 'UNCONFIRMED':
      return { to: 'FAILED', reason: code ?? 'evidence_not_sent', contrary: false }
    case 'FAILED':
      return NOTHING
    case 'DELIVERED':
    case 'READ':
    case 'QUEUED':
    case 'SENDING':
    case 'EXPIRED':
    case 'CANCELLED':
      return CONTRARY
  }
}
