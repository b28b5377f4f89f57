import type { Receipt } from '../ports/channel.ts'
import type { ReasonCode } from '../reasons.ts'
import type { MessageState } from './message.ts'

/** The facts about a message that decide the effect of a report. */
export interface KnownMessage {
  readonly state: MessageState
  /** The number of its last attempt; 0 when there was none. */
  readonly attempts: number
  /** Only for FAILED: true if the network reported the failure, false if an attempt was refused. */
  readonly wasReportedFailed: boolean
  /** The network's own id of the message, from any of its attempts; null when there is none. */
  readonly networkId: string | null
  /** Another attempt than the reported one (the last, where none is named) has an unknown result. */
  readonly mayHaveArrivedOtherwise: boolean
  /** Only for QUEUED: an attempt has an unknown result, and the message waits to be sent once more all the same. */
  readonly waitsToBeRepeated: boolean
}

export interface ReceiptEffect {
  /** Null: the message stays as it is. */
  readonly to: MessageState | null
  /** Why the message has its new state. Null: it has no reason, except that it may have arrived twice (G5). */
  readonly reason: ReasonCode | null
  /** True when the report contradicts what is known: it is kept for people to see. */
  readonly contrary: boolean
  /** False when the report adds nothing to what is known. */
  readonly isNew: boolean
  /** The report is ignored once the message has so many. Null: it always counts. */
  readonly mostReported: number | null
  /** What an honest network never reports of one attempt: the opposite of an earlier report, or a second id. */
  readonly conflict: 'opposite' | 'second-id' | null
}

// A network sends about five reports about a message. The holder of an account's app secret could send new ones without end,
// each with another time, and make the timeline ever longer and slower to read.
export const MOST_REPORTED = 50
// For reports that take a message back to FAILED or UNCONFIRMED. Evidence may undo that again, and so on for ever. The limit
// is higher than the other by more steps than a message can go forward, so the first such report always counts.
export const MOST_REPORTED_FAILURES = 60
// How many entries of a timeline are read, from its end: reports, and attempts and waits between them.
export const TIMELINE_ENTRIES_READ = 200

type Effect = Omit<ReceiptEffect, 'conflict'>

const SAYS_NOTHING: Effect = { to: null, reason: null, contrary: false, isNew: false, mostReported: null }
const STAYS: Effect = { to: null, reason: null, contrary: false, isNew: true, mostReported: MOST_REPORTED }
const CONTRARY: Effect = { ...STAYS, contrary: true }

type Reported = Pick<Receipt, 'kind' | 'code' | 'attemptNumber' | 'networkId'>

/** What a report of the network does to a message. A message only moves forward; no first report that says something is dropped. */
export function applyReceipt(known: KnownMessage, receipt: Reported): ReceiptEffect {
  const effect = effectOf(known, receipt)
  if (!hasSecondId(known, receipt)) return { ...effect, conflict: isOpposite(known, receipt) ? 'opposite' : null }
  // It may add nothing else, and people must see it all the same.
  return { ...(effect.to === null ? CONTRARY : effect), conflict: 'second-id' }
}

/** Whether the network knows the only attempt of a message by another id than this, so that it may have sent it twice. */
export function hasSecondId(
  { attempts, networkId }: Pick<KnownMessage, 'attempts' | 'networkId'>,
  receipt: Pick<Receipt, 'kind' | 'attemptNumber' | 'networkId'>,
): boolean {
  if (receipt.kind === 'failed' || attempts !== 1 || receipt.attemptNumber !== 1) return false
  return networkId !== null && receipt.networkId !== null && networkId !== receipt.networkId
}

/** With several attempts no report is the opposite of another: each may be about an attempt of its own. */
function isOpposite({ state, attempts, wasReportedFailed }: KnownMessage, { kind }: Reported): boolean {
  if (attempts !== 1) return false
  if (kind === 'failed') return state === 'DELIVERED' || state === 'READ'
  return kind !== 'sent' && kind !== 'unreadable' && state === 'FAILED' && wasReportedFailed
}

function effectOf(known: KnownMessage, receipt: Reported): Effect {
  switch (receipt.kind) {
    case 'failed':
      return afterFailure(known, receipt)
    case 'sent':
      return afterSent(known, receipt)
    case 'unreadable': {
      // The network has the message, so this is as good as `sent`; and people must see it in any case.
      const effect = afterSent(known, receipt)
      return effect.isNew ? effect : STAYS
    }
    case 'delivered':
      return afterArrival(known, receipt, 'DELIVERED')
    case 'read':
      return afterArrival(known, receipt, 'READ')
  }
}

/** The message has arrived, whichever attempt it was. */
function afterArrival(known: KnownMessage, receipt: Reported, wanted: 'DELIVERED' | 'READ'): Effect {
  switch (known.state) {
    case 'PUBLISHED':
    case 'UNCONFIRMED':
      return move(wanted, null)
    case 'DELIVERED':
      return wanted === 'READ' ? move('READ', null) : STAYS
    case 'READ':
      return STAYS
    case 'FAILED':
      // Late evidence of delivery outranks an early report of failure, and people must see both.
      return { ...move('PUBLISHED', 'evidence_found'), contrary: true }
    case 'QUEUED':
    case 'EXPIRED':
    case 'CANCELLED':
      return ofUnsent(known, receipt, wanted)
    case 'SENDING':
      return CONTRARY
  }
}

/**
 * A message that waits to be repeated after an unknown result has arrived: it is final, and nothing is sent again (G5). The same
 * holds if the network reports an attempt that was never made here: the database was set back, and that attempt is lost
 * (G12). For any other, all its attempts had been rejected. It is not held back: the network contradicts itself, and a person
 * must see which of the two is wrong.
 */
function ofUnsent(
  { attempts, waitsToBeRepeated }: KnownMessage,
  { attemptNumber }: Reported,
  to: 'PUBLISHED' | 'DELIVERED' | 'READ',
): Effect {
  const isForgotten = attemptNumber !== null && attemptNumber > attempts
  return waitsToBeRepeated || isForgotten ? move(to, 'evidence_found') : CONTRARY
}

function afterSent(known: KnownMessage, receipt: Reported): Effect {
  switch (known.state) {
    case 'PUBLISHED':
    case 'DELIVERED':
    case 'READ':
      return SAYS_NOTHING
    case 'UNCONFIRMED':
      return move('PUBLISHED', 'evidence_found')
    case 'FAILED':
      // The network had taken the message before it reported the failure. Reports overtake each other, so the earlier one
      // contradicts nothing when it comes last.
      return known.wasReportedFailed ? SAYS_NOTHING : { ...move('PUBLISHED', 'evidence_found'), contrary: true }
    case 'QUEUED':
    case 'EXPIRED':
    case 'CANCELLED':
      return ofUnsent(known, receipt, 'PUBLISHED')
    case 'SENDING':
      return CONTRARY
  }
}

function afterFailure(
  { state, attempts, networkId, mayHaveArrivedOtherwise }: KnownMessage,
  receipt: Reported,
): Effect {
  const { code, attemptNumber } = receipt
  // The state of the message follows from its last attempt, or from the one whose id the network gave. That another attempt
  // failed says nothing about it.
  const isKnownBy = receipt.networkId !== null && receipt.networkId === networkId
  if (attemptNumber !== null && attemptNumber !== attempts && !isKnownBy) return CONTRARY
  switch (state) {
    case 'PUBLISHED':
      // It must not be called failed as long as another attempt may have arrived.
      return mayHaveArrivedOtherwise ? move('UNCONFIRMED', 'result_unknown') : move('FAILED', code ?? 'refused_later')
    case 'UNCONFIRMED':
      return mayHaveArrivedOtherwise ? STAYS : move('FAILED', code ?? 'evidence_not_sent')
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

function move(to: MessageState, reason: ReasonCode | null): Effect {
  const mostReported = to === 'FAILED' || to === 'UNCONFIRMED' ? MOST_REPORTED_FAILURES : null
  return { to, reason, contrary: false, isNew: true, mostReported }
}
