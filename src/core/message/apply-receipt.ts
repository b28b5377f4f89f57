import type { Receipt } from '../ports/channel.ts'
import type { MessageState } from './message.ts'

/** What a report is judged by. */
export interface KnownMessage {
  readonly state: MessageState
  /** The number of its last attempt; 0 when there was none. */
  readonly attempts: number
  /** Only for FAILED: it is so because the network reported it, and not because an attempt was refused. */
  readonly wasReportedFailed: boolean
  /** An attempt before the last one is of unknown fate: the message was sent once more all the same. */
  readonly mayHaveArrivedBefore: boolean
}

export interface ReceiptEffect {
  /** Null: the message stays as it is. */
  readonly to: MessageState | null
  /** A reason code for the message's new state; null keeps none. */
  readonly reason: string | null
  /** True when the report contradicts what is known: it is kept for people to see. */
  readonly contrary: boolean
  /** False when it tells nothing that was not known. */
  readonly isTold: boolean
}

const SAYS_NOTHING: ReceiptEffect = { to: null, reason: null, contrary: false, isTold: false }
const STAYS: ReceiptEffect = { to: null, reason: null, contrary: false, isTold: true }
const CONTRARY: ReceiptEffect = { to: null, reason: null, contrary: true, isTold: true }

/** What a report of the network does to a message. A message only moves forward; no report that says something is dropped. */
export function applyReceipt(
  known: KnownMessage,
  receipt: Pick<Receipt, 'kind' | 'code' | 'attemptNumber'>,
): ReceiptEffect {
  switch (receipt.kind) {
    case 'failed':
      return afterFailure(known, receipt)
    case 'sent':
      return afterSent(known)
    case 'delivered':
      return afterArrival(known.state, 'DELIVERED')
    case 'read':
      return afterArrival(known.state, 'READ')
  }
}

/** Whichever attempt it was: it arrived. */
function afterArrival(state: MessageState, wanted: 'DELIVERED' | 'READ'): ReceiptEffect {
  switch (state) {
    case 'PUBLISHED':
    case 'UNCONFIRMED':
      return move(wanted, null)
    case 'DELIVERED':
      return wanted === 'READ' ? move('READ', null) : STAYS
    case 'READ':
      return STAYS
    case 'FAILED':
      // Late evidence of delivery weighs more than an early report of failure, and people must see both.
      return { ...move('PUBLISHED', 'evidence_found'), contrary: true }
    case 'QUEUED':
    case 'SENDING':
    case 'EXPIRED':
    case 'CANCELLED':
      // Of one that waits, its attempt was believed not to have been sent. It is not held back for that: the network
      // contradicts itself, and which of the two is wrong is for a person to see.
      return CONTRARY
  }
}

function afterSent({ state, wasReportedFailed }: KnownMessage): ReceiptEffect {
  switch (state) {
    case 'PUBLISHED':
    case 'DELIVERED':
    case 'READ':
      return SAYS_NOTHING
    case 'UNCONFIRMED':
      return move('PUBLISHED', 'evidence_found')
    case 'FAILED':
      // What the network reports to have failed it had taken before. Reports overtake each other, so that the earlier
      // one contradicts nothing when it comes last.
      return wasReportedFailed ? SAYS_NOTHING : { ...move('PUBLISHED', 'evidence_found'), contrary: true }
    case 'QUEUED':
    case 'SENDING':
    case 'EXPIRED':
    case 'CANCELLED':
      return CONTRARY
  }
}

function afterFailure(
  { state, attempts, mayHaveArrivedBefore }: KnownMessage,
  { code, attemptNumber }: Pick<Receipt, 'code' | 'attemptNumber'>,
): ReceiptEffect {
  // That another attempt failed says nothing of the one by which the message stands as it does.
  if (attemptNumber !== null && attemptNumber !== attempts) return CONTRARY
  switch (state) {
    case 'PUBLISHED':
      // Nobody may say that it failed as long as the attempt before may have arrived.
      return mayHaveArrivedBefore ? move('UNCONFIRMED', 'fate_unknown') : move('FAILED', code ?? 'refused_later')
    case 'UNCONFIRMED':
      return mayHaveArrivedBefore ? STAYS : move('FAILED', code ?? 'evidence_not_sent')
    case 'FAILED':
      return STAYS
    case 'DELIVERED':
    case 'READ':
    case 'QUEUED':
    case 'SENDING':
    case 'EXPIRED':
    case 'CANCELLED':
      return CONTRARY
  }
}

function move(to: MessageState, reason: string | null): ReceiptEffect {
  return { to, reason, contrary: false, isTold: true }
}
